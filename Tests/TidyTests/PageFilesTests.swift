// Holds the files of the dashboard's page to what is promised of them: all are served, none is long, and
// none makes markup or code out of text.

import Testing

@Suite("the dashboard's page")
struct PageFilesTests {
    private static let folder = "plugins/dashboard"

    @Test("each file is served, and none is longer than 1,200 lines")
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
