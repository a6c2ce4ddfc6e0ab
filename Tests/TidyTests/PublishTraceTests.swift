// Compares the path of a publish in CONTRIBUTING.md with the code. Each function must be in the named
// file and call those that are listed below it.

import Testing

@Suite("the way of a publish")
struct PublishTraceTests {
    /// One line of the trace.
    private struct Step {
        let depth: Int
        let name: String
        let path: String
    }

    private static func page() throws -> String { try SourceTree.text(of: ".github/CONTRIBUTING.md") }

    private static func steps() throws -> [Step] {
        let page = try page()
        let block = try #require(page.firstMatch(of: /```trace\n([^`]*)\n```/)).output.1
        return try block.split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            try #require(words.count >= 2, "\(line)")
            let folder = words[1].hasPrefix("Plugboard") ? "Sources/" : "Sources/PlugboardBroker/"
            let depth = line.prefix { $0 == " " }.count / 2
            return Step(depth: depth, name: String(words[0]), path: folder + words[1])
        }
    }

    /// The bodies of all functions with the step's name in its file.
    private static func bodies(of step: Step) throws -> [[String]] {
        let file = try #require(
            try SourceTree.files(in: "Sources").first { $0.path == step.path }, "\(step.path)"
        )
        return file.code.indices.compactMap { start in
            guard file.code[start].contains("func \(step.name)(") else { return nil }
            let indent = file.code[start].prefix { $0 == " " }
            let rest = file.code[start...].dropFirst()
            let end = rest.firstIndex { $0 == indent + "}" } ?? start
            return Array(file.code[start...end].dropFirst())
        }
    }

    @Test("each function is where the page says, and calls what stands below it")
    func calls() throws {
        var above: [Step] = []
        for step in try Self.steps() {
            #expect(try !Self.bodies(of: step).isEmpty, "no \(step.name) in \(step.path)")
            above.removeLast(above.count - step.depth)
            if let caller = above.last {
                let call = "\(step.name)("
                let isCalled = try Self.bodies(of: caller).contains { body in
                    body.contains { line in
                        line.ranges(of: call).contains { range in
                            let before = line[..<range.lowerBound].last ?? " "
                            return !before.isLetter && !line.contains("func \(call)")
                        }
                    }
                }
                #expect(isCalled, "\(caller.name) in \(caller.path) doesn't call \(step.name)")
            }
            above.append(step)
        }
    }
}
