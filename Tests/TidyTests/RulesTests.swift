// The rules themselves: each finds what it should, and ignores what only looks like it.

import Testing

@Suite("the rules of the house")
struct RulesTests {
    private func file(_ text: String) -> SourceFile {
        SourceFile(path: "x.swift", text: text)
    }

    @Test(
        "forcing is found",
        arguments: [
            "let a = b!", "let a = try! b()", "let a = b as! C", "var a: Int!", "a[0]!.b()", "f()!",
            "fatalError()",
            "let a = \"x\" + b!",
        ]
    )
    func forced(_ line: String) {
        #expect(Rules.traps(file("\n\(line)\n")).map { $0.prefix(10) } == ["x.swift:2:"])
    }

    @Test(
        "what only looks like forcing is ignored",
        arguments: [
            "if a != b {", "if !a {", "// let a = b!", "let a = \"b!\"", "let a = #\"b! \" c!\"#",
            "/* a!\n b! */ c()",
            "let a = \"\"\"\n  Stop!\n  \"\"\"", "let a = \"\\(b(\"!\"))!\"", "let a = b ? !c : d",
        ]
    )
    func unforced(_ text: String) {
        #expect(Rules.traps(file(text)) == [])
    }

    @Test("unsafe memory is found, and needs a reason")
    func unsafeMemory() {
        let used = "let a = unsafe b[unchecked: 1]"
        #expect(Rules.isUnsafe(file("// A file.\n\(used)\n")))
        #expect(Rules.isUnsafe(file("let a: UnsafePointer<UInt8>\n")))
        #expect(Rules.isUnsafe(file("let a = b.pointee.c\n")))
        #expect(!Rules.isUnsafe(file("// It is unsafe to go.\nlet a = unsafeBytes(\"unsafe b\")\n")))
        #expect(Rules.argument(file("// A file of\n// bytes.\n\(used)\n")) != [])
        #expect(Rules.argument(file("// A file.\n//\n// Why it may: it was checked.\n\(used)\n")) == [])
    }

    @Test("a function is as long as it looks")
    func functionLengths() {
        func function(_ count: Int, _ head: String) -> SourceFile {
            let body = Array(repeating: "        a()\n", count: count - 2).joined()
            return file("struct A {\n    \(head) {\n\(body)    }\n\n    var a = 1\n}\n")
        }
        for head in ["func a()", "public static func a<B>(_ b: B) -> C", "init(a: B)", "deinit", "var a: B"] {
            #expect(Rules.functions(function(70, head)) == [], "\(head)")
            #expect(Rules.functions(function(71, head)).count == 1, "\(head)")
        }
    }

    @Test("parameters are counted, and those that a function changes")
    func parameters() {
        func found(_ text: String) -> [Int] {
            let found = Rules.wideFunctions(file(text))
            return [found.wide.count, found.changing.count]
        }
        #expect(found("func a(_ a: A, b: [B: C], c: (D, E) -> F, d: G<H, I>) {}") == [0, 0])
        #expect(found("func a(\n    _ a: A, b: B, c: C,\n    d: D, e: E\n) {}") == [1, 0])
        #expect(found("func a<B, C>(_ a: inout A, b: inout B) {}") == [0, 0])
        #expect(found("func a(_ a: inout A, b: inout B, c: inout C) {}") == [0, 1])
    }

    @Test("a requirement without a body is no function")
    func requirements() {
        let lines = Array(repeating: "    func a()\n", count: 100).joined()
        #expect(Rules.functions(file("protocol A {\n\(lines)}\n")) == [])
    }

    @Test("a signature of several lines belongs to its function")
    func signatures() {
        let body = Array(repeating: "        a()\n", count: 70).joined()
        let text = "    func a(\n        _ b: C\n    ) -> D\n    where C: E {\n\(body)    }\n"
        #expect(Rules.functions(file(text)) == ["x.swift:1: func a has 75 lines"])
    }

    @Test("a file may have 1,200 lines and not one more")
    func fileLengths() {
        #expect(Rules.length(file(String(repeating: "a\n", count: Rules.fileLinesMax))) == [])
        #expect(Rules.length(file(String(repeating: "a\n", count: Rules.fileLinesMax + 1))).count == 1)
    }

    @Test("an import is seen through its attributes")
    func imports() {
        #expect(Rules.importedModule("import Foundation") == "Foundation")
        #expect(Rules.importedModule("@_exported public import CPlatform") == "CPlatform")
        #expect(Rules.importedModule("    import struct Foundation.Date") == "Foundation")
        #expect(Rules.importedModule("func import(_ a: B)") == nil)
        #expect(
            Rules.imports(file("import A\nimport B\n"), allowed: ["A"]) == ["x.swift:2: must not import B"]
        )
    }

    @Test("a type that two files declare is found, unless only its own file sees it")
    func names() {
        #expect(Names.declared("public final class Link: Sendable {") == "Link")
        #expect(Names.declared("@MainActor struct Link {") == "Link")
        #expect(Names.declared("    struct Inner {") == nil)
        #expect(Names.declared("private enum Link {") == nil)
        #expect(Names.declared("extension Link {") == nil)
        let twice = Names.repeated(in: [file("struct Link {\n}\n"), file("\nenum Link {\n}\n")])
        #expect(twice == ["Link is declared 2 times: x.swift:1, x.swift:2"])
        #expect(Names.repeated(in: [file("struct Link {}\n"), file("private enum Link {}\n")]) == [])
    }

    @Test("a header is a sentence, not a word")
    func headers() {
        #expect(Rules.header(file("// What a command declares of itself.\nimport A\n")) == [])
        #expect(Rules.header(file("// main.swift\nimport A\n")).count == 1)
        #expect(Rules.header(file("import A\n")).count == 1)
    }
}
