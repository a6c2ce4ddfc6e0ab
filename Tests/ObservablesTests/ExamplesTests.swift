// The examples in the documentation are the compiled ones, and those print what they should.

import Foundation
import Testing

@Suite("the examples of the documentation", .serialized)
struct ExamplesTests {
    @Test("every paragraph of an example in a comment stands in a file of examples")
    func compiled() throws {
        let files = ["Examples", "ThreadAndRoleExamples", "OptionExamples"]
        let examples = flat(try files.map { try text(of: "Tests/ObservablesTests/\($0).swift") }.joined())
        let paragraphs = try sources().flatMap { try documentedParagraphs(of: $0) }
        #expect(paragraphs.count > 30)
        for paragraph in paragraphs {
            let isCompiled = examples.contains(flat(paragraph))
            #expect(isCompiled, "not compiled: \(paragraph)")
        }
    }

    @Test("every example of an article stands there, too")
    func articles() throws {
        let files = ["Examples", "ThreadAndRoleExamples", "OptionExamples"]
        let examples = flat(try files.map { try text(of: "Tests/ObservablesTests/\($0).swift") }.joined())
        let articles = try names(in: "Sources/Observables/Observables.docc")
        let paragraphs = try articles.flatMap { try self.paragraphs(of: text(of: $0).split(separator: "\n")) }
        #expect(articles.count > 3 && paragraphs.count > 5)
        for paragraph in paragraphs {
            let isCompiled = examples.contains(flat(paragraph))
            #expect(isCompiled, "not compiled: \(paragraph)")
        }
    }

    @Test("every public type that one makes or adopts has an example")
    func complete() throws {
        let undocumented = try sources().flatMap { path in
            let types = try text(of: path).split(separator: "\n").filter { line in
                ["public final class", "open class", "public protocol"].contains { line.hasPrefix($0) }
            }
            return try types.isEmpty || !documentedParagraphs(of: path).isEmpty ? [] : [path]
        }
        // These two are shown by everything that conforms to them.
        #expect(
            undocumented.sorted().map { $0.split(separator: "/").last } == [
                "KeyedPublisher.swift", "Publisher.swift",
            ]
        )
    }

    @Test("they print what they should")
    func output() async throws {
        expect(DisposableExample.run, ["Grace"])
        expect(BagExample.run, ["Grace", "37"])
        expect(VerbsExample.run, ["visit 42"])
        expect(PartExample.run, ["text Eve", "length 5", "text Grace"])
        expect(
            ValueExample.run,
            ["nil → 0", "Optional(0) → 1", "posts: 1", "Optional(1) → 2", "posts: 2", "Optional(2) → 2"]
        )
        expect(NotifierExample.run, ["show the name", "show the age"])
        expect(PlainExample.run, ["badge: Grace", "form: Grace", "form: 37"])
        expect(KeyedPlainExample.run, ["A1 0 → 5"])
        expect(ThreadSafeExample.run, ["in stock: 12"])
        expect(KeyedThreadSafeExample.run, ["B01 costs 25 instead of 30"])
        expect(RolesExample.run, ["it is 21 °C"])
        expect(MediatorExample.run, ["heating", "off"])
    }

    @Test("those of options and transactions print what they should")
    func optionsOutput() async throws {
        expect(OptionsExample.run, ["log: 20 → 90", "alarm: 120", "log: 90 → 120"])
        expect(ControlExample.run, ["3 wait", "one", "two", "three"])
        expect(WhereExample.run, ["order more, there is 1"])
        expect(TraceExample.run, [#"25 ["tag sent", "bargain filtered"]"#])
        expect(
            DoorExample.run,
            ["lock open", #"DoorObserver ["Lock sent", "Lamp paused"]"#, "lamp on"]
        )
        try TransactionExample.run()
        #expect(takePrinted() == ["40 of 100"])
        await SequenceExample.run()
        #expect(takePrinted() == ["total: 10"])
    }

    @Test("those that wait for something print what they should", .timeLimit(.minutes(20)))
    func asynchronousOutput() async throws {
        await ValuesExample.run()
        #expect(takePrinted().last == "now 25")
        await NotifierExample.runEvents()
        #expect(takePrinted() == ["changed: age"])
        try await ThreadExample.run()
        #expect(takePrinted() == ["imported 0 %", "imported 50 %", "imported 100 %"])
        try await KeyedThreadExample.run()
        #expect(takePrinted() == ["[\"cellar\": 12]"])
    }

    private func expect(
        _ example: () -> Void, _ lines: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        example()
        #expect(takePrinted() == lines, sourceLocation: sourceLocation)
    }

    private var root: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    private func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private func sources() throws -> [String] {
        try names(in: "Sources/Observables").filter { $0.hasSuffix(".swift") }
    }

    private func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
            .map { "\(folder)/\($0)" }
    }

    /// The paragraphs of all examples in the comments of a file.
    private func documentedParagraphs(of path: String) throws -> [String] {
        let lines = try text(of: path).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        return paragraphs(of: lines.filter { $0.hasPrefix("///") }.map { $0.dropFirst(3) })
    }

    /// The paragraphs of all examples in a text.
    private func paragraphs(of lines: [Substring]) -> [String] {
        var paragraphs: [String] = []
        var current: String?
        for line in lines {
            let content = line.trimmingCharacters(in: .whitespaces)
            switch (content, current) {
            case ("```swift", _): current = ""
            case ("```", let paragraph?), ("", let paragraph?):
                if !paragraph.isEmpty { paragraphs.append(paragraph) }
                current = content.isEmpty ? "" : nil
            case (_, let paragraph?): current = paragraph + content + "\n"
            default: break
            }
        }
        return paragraphs
    }

    /// The text without its indentation and line breaks.
    private func flat(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
