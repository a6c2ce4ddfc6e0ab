// The documentation's examples compile and do what the text says.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("examples", .someAtATime)
struct ExampleTests {
    private static let root = SocketPath.folder(of: SocketPath.folder(of: SocketPath.folder(of: #filePath)))

    @Test("every example in the documentation is compiled with the tests")
    func compiled() throws {
        let code = Self.words(try Self.read(Self.root + "/Tests/PlugboardClientTests/Examples.swift"))
        var found = 0
        for path in try Self.files(in: Self.root + "/Sources/PlugboardClient") {
            for example in Self.examples(in: try Self.read(path)) {
                found += 1
                let isCompiled = code.contains(Self.words(example))
                #expect(isCompiled, "\(path):\n\(example)")
            }
        }
        #expect(found >= 10)
    }

    @Test("every example in the articles is compiled with the tests")
    func articles() throws {
        let code = Self.words(try Self.read(Self.root + "/Tests/PlugboardClientTests/Examples.swift"))
        let folder = Self.root + "/Sources/PlugboardClient/PlugboardClient.docc"
        let examples = try Self.files(in: folder).flatMap { Self.blocks(in: try Self.read($0)) }
        #expect(examples.count >= 10)
        for example in examples {
            let isCompiled = code.contains(Self.words(example))
            #expect(isCompiled, "\(example)")
        }
    }

    @Test("the examples that end by themselves do what they say")
    func run() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("indicator.B07", ["new": 1])
        #expect(try Examples.parts().text == #"{"sku":"B07","quantity":2}"#)
        try await Examples.publish(bus)
        #expect(try await bus.entry("cart.summary")?.value.text == #"{"total":1000.00}"#)
        try await Examples.json(bus)
        #expect(try await bus.entry("cart.total")?.value.text == "1000.00")
        try await Examples.batch(bus)
        #expect(try await bus.entry("indicator.B07") == nil)
        #expect(try await bus.get("banner", as: [String: String].self) == ["text": "2 new reviews"])
        try await Examples.writes(bus)
        #expect(try await bus.entry("banner") == nil)
        try await Examples.pipeline(bus)
        #expect(try await bus.get("counter", as: Int.self) == 100_000)
        try await Examples.callback(bus)
        try await Examples.observable(bus)
        #expect(try await bus.get("cart.total", as: Double.self) == 43.5)
    }

    /// The blocks between ```swift and ``` in documentation comments.
    private static func examples(in source: String) -> [String] {
        var examples: [String] = []
        var lines: [Substring]?
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            guard let start = line.firstRange(of: "///") else { continue }
            let text = line[start.upperBound...]
            if text.contains("```swift") {
                lines = []
            } else if text.contains("```"), let block = lines {
                // The import is at the top of the file that compiles it.
                examples.append(block.filter { !$0.hasPrefix(" import ") }.joined(separator: "\n"))
                lines = nil
            } else {
                lines?.append(text)
            }
        }
        return examples
    }

    /// The Swift examples of an article, without the import.
    private static func blocks(in article: String) -> [String] {
        article.split(separator: "```swift\n").dropFirst().map { rest in
            let lines = rest.prefix(upTo: rest.firstRange(of: "```")?.lowerBound ?? rest.endIndex)
            return lines.split(separator: "\n").filter { !$0.hasPrefix("import ") }.joined(separator: "\n")
        }
    }

    /// The files of a folder and of those in it.
    private static func files(in folder: String) throws -> [String] {
        try Folder.names(in: folder).flatMap { name in
            let path = folder + "/" + name
            return FileStatus(path: path).kind == .folder ? try files(in: path) : [path]
        }
    }

    /// The text without differences in indentation.
    private static func words(_ text: String) -> String {
        text.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    }

    private static func read(_ path: String) throws -> String {
        String(decoding: try InputFile.contents(path: path, limit: 1 << 20), as: UTF8.self)
    }
}
