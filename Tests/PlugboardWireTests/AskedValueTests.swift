// A value that is asked about again has an outline, unless it is too long for that.

import PlugboardMemory
import TestSupport
import Testing

@testable import PlugboardWire

@Suite("Values that are asked about again")
struct AskedValueTests {
    /// An object of so many bytes.
    private func value(bytes: Int) -> [UInt8] {
        let start = #"{"a":1,"b":[true,{"c/d":"x"}],"\u0061":2,"text":""#
        return Array((start + String(repeating: "y", count: bytes - start.utf8.count - 2) + "\"}").utf8)
    }

    private func parts(_ pointers: JSONPointerSet, of value: Span<UInt8>, _ comparer: inout JSONComparer)
        -> [String]
    {
        pointers.withParts(of: value, .present, using: &comparer) { parts, _ in
            (0..<pointers.count).map { parts.has($0) ? String(parts[$0]) : "none" }
        }
    }

    @Test("a value of 262,144 parts has an outline, and one with more has none")
    func limit() {
        for (elements, isOutlined) in [(AskedValue.nodesMax - 1, true), (AskedValue.nodesMax, false)] {
            var asked = AskedValue()
            let value = Array(("[0" + String(repeating: ",0", count: elements - 1) + "]").utf8)
            #expect(withBytes(value) { asked.read($0) } == isOutlined)
        }
    }

    @Test("what isn't JSON has none")
    func damaged() {
        var asked = AskedValue()
        #expect(!withBytes(Array(#"{"a":"#.utf8)) { asked.read($0) })
    }

    @Test("the answers are the same, whatever was asked before", arguments: [100, 65_537])
    func answers(bytes: Int) throws {
        let texts = [
            #"["/a","/b/1/c~1d"]"#, #"["","/b/0","/b/2","/text/0"]"#, #"["/none","/b"]"#, #"["/a"]"#,
            #"["/b/0"]"#,
            #"["/a"]"#, #"["/none"]"#, #"[""]"#,
        ]
        let sets = try texts.map { try JSONPointerSet(array: Array($0.utf8).span, at: 0) }
        withBytes(value(bytes: bytes)) { value in
            var comparer = JSONComparer()
            let alone = sets.map { parts($0, of: value, &comparer) }
            #expect(alone[0] == ["2", "\"x\""] && alone[2][0] == "none")
            var again: [[String]] = []
            for set in (sets + sets).flatMap({ [$0, $0] }) {
                comparer.ask(about: 7)
                again.append(parts(set, of: value, &comparer))
                comparer.endAsking()
            }
            #expect(again == (alone + alone).flatMap { [$0, $0] })
        }
    }

    @Test("a large object or array answers the same as a small one", arguments: [63, 64, 1_000])
    func large(count: Int) throws {
        let members = (2..<count).map { #""m\#($0)":{"n":\#($0)}"# }.joined(separator: ",")
        let elements = (0..<count).map { "[\($0)]" }.joined(separator: ",")
        let objects = [
            #"{"a":0,\#(members),"\u0061":1}"#, #"{"x/\"\\y":[\#(elements)],\#(members)}"#,
            #"{"one":{"a":0,\#(members)},"other":{"a":1,\#(members)},"list":[\#(elements)]}"#,
            "[\(elements)]",
        ]
        let sets = try [
            #"["/a"]"#, #"["/m2/n","/a","/m9999","/m3"]"#, #"["/x~1\"\\y/3/0"]"#, #"["/m2","/m2/n"]"#,
            #"["/one/a","/other/a","/list/62","/other/m61/n"]"#, #"["/62/0","/0","/01","/9999","/-"]"#,
        ].map { try JSONPointerSet(array: Array($0.utf8).span, at: 0) }
        for object in objects {
            withBytes(Array(object.utf8)) { value in
                var comparer = JSONComparer()
                for set in sets + sets.reversed() {
                    let alone = parts(set, of: value, &comparer)
                    comparer.ask(about: 7)
                    #expect(parts(set, of: value, &comparer) == alone)
                    comparer.endAsking()
                }
            }
        }
    }

    @Test("the next event has values of its own")
    func events() throws {
        let set = try JSONPointerSet(array: Array(#"["/a"]"#.utf8).span, at: 0)
        var comparer = JSONComparer()
        for (event, text) in [
            (1, #"{"a":1}"#), (1, #"{"a":1}"#), (2, #"{"b":1,"a":2}"#), (2, #"{"b":1,"a":2}"#),
        ] {
            comparer.ask(about: UInt64(event))
            #expect(withBytes(Array(text.utf8)) { parts(set, of: $0, &comparer) } == ["\(event)"])
            comparer.endAsking()
        }
    }
}
