import PlugboardMemory
import TestSupport
import Testing

@testable import PlugboardWire

@Suite("Changes of parts")
struct PartChangeTests {
    /// What an observer of these parts is told; nil if nothing.
    private func changes(_ pointers: String, _ old: String?, _ new: String) throws -> String? {
        let set = try withBytes(pointers) { try JSONPointerSet(array: $0, at: 0) }
        var comparer = JSONComparer()
        var buffer = ByteBuffer()
        func told(_ old: Span<UInt8>) -> Bool {
            withBytes(new) { new in
                let isTold = set.appendChanges(from: old, to: new, into: &buffer, using: &comparer)
                #expect(set.haveChanged(from: old, to: new, using: &comparer) == isTold)
                return isTold
            }
        }
        let isTold = old.map { withBytes($0) { told($0) } } ?? told(Span())
        #expect(isTold || buffer.isEmpty)
        return isTold ? text(buffer) : nil
    }

    @Test(
        "are told with the parts' own bytes",
        arguments: [
            (#"{"price":1,"b":2}"#, #"{"price":1.50,"b":2}"#, #","fields":{"/price":1.50}"#),
            (
                #"{"price":1}"#, #"{"price":2,"stock":{ "de":[ 3 ]}}"#,
                #","fields":{"/price":2,"/stock/de":[ 3 ]}"#
            ),
            (
                #"{"stock":{"de":3}}"#, #"{"price":2,"stock":3}"#,
                #","fields":{"/price":2},"gone":["/stock/de"]"#
            ),
            (#"{"price":1,"stock":{"de":1}}"#, "7", #","fields":{},"gone":["/price","/stock/de"]"#),
            (#"{"price":null}"#, #"{"price":0}"#, #","fields":{"/price":0}"#),
            (#"{"price":1}"#, #"{"price":null}"#, #","fields":{"/price":null}"#),
            (#"{"price":1}"#, #"{"price":1,"price":2}"#, #","fields":{"/price":2}"#),
        ]
    )
    func told(old: String, new: String, expected: String) throws {
        #expect(try changes(#"["/price","/stock/de"]"#, old, new) == expected)
    }

    @Test(
        "don't include parts that still mean the same",
        arguments: [
            (#"{"price":1,"b":2}"#, #"{"b":3,"price":1}"#), (#"{"price":49.9}"#, #"{"price":49.90}"#),
            (#"{"price":{"a":1,"b":"c"}}"#, #"{"price":{"b":"\u0063","a":1.0}}"#), ("1", "2"),
            ("{}", #"{"b":1}"#),
            (#"{"price":1,"price":2}"#, #"{"price":2}"#),
        ]
    )
    func none(old: String, new: String) throws {
        #expect(try changes(#"["/price","/stock/de"]"#, old, new) == nil)
    }

    @Test("without a previous value, all existing parts are new")
    func first() throws {
        #expect(try changes(#"["/a","/b"]"#, nil, #"{"b":1}"#) == #","fields":{"/b":1}"#)
        #expect(try changes(#"["/a"]"#, nil, #"{"b":1}"#) == nil)
    }

    @Test("of large parts within each other are told if in doubt, and in reasonable time")
    func nested() throws {
        let text = String(repeating: "v", count: 180)
        let members = (0..<2_000).map { "\"name \($0)\":\"\(text)\"" }
        func nested(_ members: [String]) -> String {
            let inner = "{\(members.joined(separator: ","))}"
            return String(repeating: #"{"a":"#, count: 60) + inner + String(repeating: "}", count: 60)
        }
        let pointers = (0..<60).map { "\"\(String(repeating: "/a", count: $0))\"" }
        let value = nested(members)
        let turned = nested(members.reversed())
        let withinReach = JSONPointerSet.comparedBytesMax / (2 * value.utf8.count)
        #expect((1..<60).contains(withinReach))
        let few = "[\(pointers.prefix(withinReach).joined(separator: ","))]"
        #expect(try changes(few, value, turned) == nil)
        let more = "[\(pointers.prefix(withinReach + 1).joined(separator: ","))]"
        #expect(try changes(more, value, turned)?.contains(pointers[withinReach]) == true)
        #expect(try changes("[\(pointers.joined(separator: ","))]", value, value) == nil)
    }

    @Test("spell pointers as JSON strings")
    func names() throws {
        let told = try changes(#"["/\"\u00e9","","/a~1b"]"#, nil, #"{"\"é":1,"a/b":2}"#)
        #expect(told == #","fields":{"/\"é":1,"":{"\"é":1,"a/b":2},"/a~1b":2}"#)
    }

    @Test("keep an observer's parts the same as the value's", arguments: 0..<40)
    func property(seed: Int) throws {
        var random = SeededRandom(seed)
        let pointers = ["/a", "/a/b", "/b/0", "", "/c/a", "/0"]
        let array = "[\(pointers.map { "\"\($0)\"" }.joined(separator: ","))]"
        let recipe = Tree.Recipe(repeats: random.oneIn(3))
        var (tree, value): (Tree, String?) = (.null, nil)
        var known: [String: Tree] = [:]
        for _ in 0..<60 {
            tree = tree.changed(recipe, &random)
            let new = tree.spelled(&random)
            if let told = try changes(array, value, new) {
                guard case .object(let members)? = Tree("{\"x\":0\(told)}") else { throw JSONFault() }
                for case .object(let fields) in members.filter({ $0.name == Array("fields".utf8) }).map(
                    \.value
                ) {
                    for field in fields { known[String(decoding: field.name, as: UTF8.self)] = field.value }
                }
                for case .array(let gone) in members.map(\.value) {
                    for case .string(let pointer) in gone {
                        known[String(decoding: pointer, as: UTF8.self)] = nil
                    }
                }
            }
            value = new
            for pointer in pointers {
                let tokens = pointer.split(separator: "/").map(String.init)
                #expect(known[pointer]?.asMeant == tree.part(tokens[...])?.asMeant, "\(pointer) of \(new)")
            }
        }
    }

    private struct JSONFault: Error {}
}
