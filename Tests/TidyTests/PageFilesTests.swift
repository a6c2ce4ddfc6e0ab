// Compares the files of the dashboard's page with the Swift files in which they are embedded.

import Testing

@Suite("the dashboard's page is embedded as it is")
struct PageFilesTests {
    private static let folder = "plugins/dashboard"

    /// What `.ci/page` makes of a file.
    private static func embedded(_ name: String) throws -> String {
        let (stem, kind) = try split(name)
        let text = try SourceTree.text(of: "\(folder)/page/\(name)")
        return """
            // Made by .ci/page from \(folder)/page/\(name): change that file, and run .ci/page again.
            // swift-format-ignore-file

            extension PageText {
                static let \(stem)\(kind.uppercased()): StaticString = ##\"""

            """ + text + "\"\"\"##\n}\n"
    }

    private static func split(_ name: String) throws -> (stem: String, kind: String) {
        let words = name.split(separator: ".").map(String.init)
        try #require(words.count == 2, "\(name)")
        return (words[0], words[1])
    }

    private static func swiftName(_ name: String) throws -> String {
        let (stem, kind) = try split(name)
        return "PageText+\(stem)\(kind == "css" ? ".style" : "").swift"
    }

    @Test("each file is what .ci/page makes of it now")
    func equal() throws {
        let names = try SourceTree.names(in: "\(Self.folder)/page")
        #expect(names.count > 10)
        for name in names {
            let swift = try SourceTree.text(of: "\(Self.folder)/PageText/\(Self.swiftName(name))")
            #expect(swift == (try Self.embedded(name)), "\(name): run .ci/page")
        }
        let made = try SourceTree.names(in: "\(Self.folder)/PageText")
        #expect(Set(made) == Set(try names.map(Self.swiftName)))
    }

    @Test("each file is served, and none is longer than 400 lines")
    func served() throws {
        let table = try SourceTree.text(of: "\(Self.folder)/PageFile.swift")
        for name in try SourceTree.names(in: "\(Self.folder)/page") {
            #expect(table.contains(name == "index.html" ? "\"/\":" : "\"/\(name)\":"), "\(name)")
            let text = try SourceTree.text(of: "\(Self.folder)/page/\(name)")
            #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } <= Rules.fileLinesMax, "\(name)")
        }
    }

    @Test("nothing in the page reads text as markup or as code, and nothing is loaded from elsewhere")
    func markup() throws {
        let forbidden = [
            "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "srcdoc",
            "DOMParser", "https://",
        ]
        for name in try SourceTree.names(in: "\(Self.folder)/page") {
            let text = try SourceTree.text(of: "\(Self.folder)/page/\(name)")
            #expect(forbidden.filter { text.contains($0) } == [], "\(name)")
            let addresses = text.matches(of: /http:\/\/[^"' ]*/).map { String($0.0) }
            #expect(addresses.allSatisfy { $0 == "http://www.w3.org/2000/svg" }, "\(name): \(addresses)")
        }
    }
}
