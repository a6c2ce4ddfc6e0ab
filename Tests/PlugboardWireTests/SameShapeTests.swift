// A value of the same shape as the one before isn't searched, paired or outlined, so its parts must be where they
// were, and what is told of it must be what is told of any value.

import PlugboardMemory
import TestSupport
import Testing

@testable import PlugboardWire

@Suite("Values of the same shape")
struct SameShapeTests {
    private func differOnlyInDigits(_ old: String, _ new: String) -> Bool {
        withBytes(old) { old in withBytes(new) { JSONScanner.differOnlyInDigits(old, $0) } }
    }

    @Test(
        "differ in digits of numbers and strings",
        arguments: [
            (#"{"name":"a","price":49.95,"n":100}"#, #"{"name":"a","price":50.05,"n":101}"#),
            (#"{"name":"a1","price":49.95,"n":100}"#, #"{"name":"a2","price":49.95,"n":100}"#),
            (#"{"at":"2026-11-26 12:45","to":[1,2]}"#, #"{"at":"2027-10-25 12:36","to":[3,4]}"#),
            (#"["", "a long text before",  1234567]"#, #"["", "a long text before",  7654321]"#),
            (#"{"name":"é and more text","price":1}"#, #"{"name":"é and more text","price":2}"#),
            (#"{"name":"the same value","price":1}"#, #"{"name":"the same value","price":1}"#),
        ]
    )
    func alike(old: String, new: String) {
        #expect(differOnlyInDigits(old, new) && differOnlyInDigits(new, old))
    }

    @Test(
        "don't differ in a name, in an escape, in their length or in anything else",
        arguments: [
            (#"{"name":"some text","f1":49.95}"#, #"{"name":"some text","f2":49.95}"#),
            (#"{"name":"some text","f1 and more" : 49.95}"#, #"{"name":"some text","f2 and more" : 49.95}"#),
            (#"{"name":"some text","1":0,"n":5}"#, #"{"name":"some text","2":0,"n":6}"#),
            (#"{"n":1,"name":"some text","f1":49.95}"#, #"{"n":2,"name":"some text","f2":49.95}"#),
            (
                #"{"name":"some text","f1 and a long name \" more":5}"#,
                #"{"name":"some text","f2 and a long name \" more":5}"#
            ),
            (#"{"name":"some \u0041 text","n":49.95}"#, #"{"name":"some \u0042 text","n":49.95}"#),
            (#"{"name":"some text","price":49.95}"#, #"{"name":"some text","price":149.95}"#),
            (#"{"name":"some text","price":49.95}"#, #"{"name":"some test","price":49.95}"#),
            (#"{"name":"some text","price":4e5}"#, #"{"name":"some text","price":4.5}"#),
        ]
    )
    func other(old: String, new: String) {
        #expect(!differOnlyInDigits(old, new) && !differOnlyInDigits(new, old))
    }

    @Test("short values are compared as any", arguments: [19, 20, 21, 22, 23, 40])
    func lengths(count: Int) {
        let text = "\"" + String(repeating: "x", count: count - 2) + "\""
        #expect(differOnlyInDigits(text, text) == (count >= 22))
        let number = String(repeating: "1", count: count)
        #expect(!differOnlyInDigits(number, "2" + number.dropFirst()), "the first bytes have to be the same")
        #expect(!differOnlyInDigits(number, number.dropLast() + "2"), "and the last one")
    }

    /// Two values, of which the second differs from the first in digits, and rarely in other bytes; nil if it is no
    /// JSON.
    private func pair(_ random: inout SeededRandom) -> (old: [UInt8], new: [UInt8])? {
        let old = Array(Tree.object(.init(depth: 3, repeats: random.oneIn(9)), &random).text.utf8)
        var new = old
        for place in new.indices where (0x30...0x39).contains(new[place]) {
            if random.oneIn(3) { new[place] = 0x30 + UInt8(random.below(10)) }
            if random.oneIn(200) { new[place] = UInt8(truncatingIfNeeded: random.next()) }
        }
        return failure(new) == nil ? (old, new) : nil
    }

    private static let sets = [
        #"["/a"]"#, #"["/b/a","/c"]"#, #"["/0","/1","/a~1b/0"]"#, #"["","/a/0","/b/1","/é"]"#,
    ]

    @Test("have their parts at the same places, and the same is told of them as of any")
    func parts() throws {
        var random = SeededRandom(19)
        var comparer = JSONComparer()
        let sets = try Self.sets.map { try JSONPointerSet(array: Array($0.utf8).span, at: 0) }
        var (found, patches, told) = (0, 0, 0)
        for _ in 0..<6_000 {
            guard let (old, new) = pair(&random), JSONScanner.differOnlyInDigits(old.span, new.span) else {
                continue
            }
            found += 1
            if expectSamePatch(old, new, ShapeShift(), &comparer) { patches += 1 }
            for set in sets {
                guard let places = KnownPlaces(of: set, in: old.span) else { continue }
                for pointer in 0..<set.count {
                    let (before, after) = (
                        set.place(of: pointer, in: old.span), set.place(of: pointer, in: new.span)
                    )
                    #expect(before == after)
                }
                if expectSameChanges(set, places, old, new, &comparer) { told += 1 }
            }
        }
        #expect(found > 1_000 && patches > 500 && told > 500, "\(found), \(patches), \(told)")
    }

    /// Returns whether there is a patch.
    private func expectSamePatch(
        _ old: [UInt8], _ new: [UInt8], _ shift: borrowing ShapeShift, _ comparer: inout JSONComparer
    ) -> Bool {
        var any = ByteBuffer()
        var next = ByteBuffer()
        any.append("before")
        next.append("before")
        let isPatch = MergeDifference.append(from: old.span, to: new.span, into: &any, using: &comparer)
        let isNext = MergeDifference.appendNext(from: old.span, to: new.span, shift, into: &next)
        guard let isNext else {
            #expect(text(next) == "before")
            return false
        }
        #expect(isNext == isPatch && text(next) == text(any))
        return isNext
    }

    /// Returns whether anything is told.
    private func expectSameChanges(
        _ set: JSONPointerSet,
        _ places: KnownPlaces,
        _ old: [UInt8],
        _ new: [UInt8],
        _ comparer: inout JSONComparer
    ) -> Bool {
        var isTold = false
        for old in [old, []] {
            var any = ByteBuffer()
            var next = ByteBuffer()
            isTold = set.appendChanges(from: old.span, to: new.span, into: &any, using: &comparer)
            let isNext = set.appendChanges(
                from: old.span, to: new.span, at: places, into: &next, using: &comparer
            )
            #expect(isNext == isTold && text(next) == text(any))
            if !old.isEmpty, isNext, places.areSame(old.span, new.span) {
                Issue.record("a change of the same parts")
            }
        }
        return isTold
    }

    private static let scalars = [
        "null", "true", "false", "0", "-0", "9", "10", "1e1", "100", "1e2", "12.5", "12.50", #""""#, #""1""#,
        #""a longer text""#, #""a \"quote\" and \\""#, #""é""#,
    ]

    /// The same tree with some other scalars.
    private func changed(_ tree: Tree, _ random: inout SeededRandom) -> Tree {
        switch tree {
        case .array(let elements): .array(elements.map { changed($0, &random) })
        case .object(let members):
            .object(members.map { Tree.Member(name: $0.name, value: changed($0.value, &random)) })
        default: random.oneIn(3) ? .number(Self.scalars[random.below(Self.scalars.count)]) : tree
        }
    }

    @Test("with other scalars, parts are where they have moved, and the same is told of them as of any")
    func moved() throws {
        var random = SeededRandom(26)
        var comparer = JSONComparer()
        let sets = try Self.sets.map { try JSONPointerSet(array: Array($0.utf8).span, at: 0) }
        var shift = ShapeShift()
        var (moved, patches, told) = (0, 0, 0)
        for _ in 0..<6_000 {
            let tree = Tree.object(.init(depth: 3, repeats: random.oneIn(9)), &random)
            let (old, new) = (Array(tree.text.utf8), Array(changed(tree, &random).text.utf8))
            let isFound = shift.find(from: old.span, to: new.span)
            guard isFound else { continue }
            if !shift.isNone { moved += 1 }
            if expectSamePatch(old, new, shift, &comparer) { patches += 1 }
            for set in sets {
                guard var places = KnownPlaces(of: set, in: old.span),
                    let found = KnownPlaces(of: set, in: new.span)
                else { continue }
                places.move(by: shift)
                let areFound = places.agree(with: found)
                let texts = String(decoding: old + [0x0A] + new, as: UTF8.self)
                #expect(areFound && places.bytes == found.bytes, "\(texts)")
                if expectSameChanges(set, places, old, new, &comparer) { told += 1 }
            }
        }
        #expect(moved > 3_000 && patches > 500 && told > 500, "\(moved), \(patches), \(told)")
    }

    private func isFound(_ old: String, _ new: String) -> Bool {
        var shift = ShapeShift()
        return withBytes(old) { old in withBytes(new) { shift.find(from: old, to: $0) } }
    }

    @Test(
        "whatever a scalar becomes, if it stays one",
        arguments: [
            (#"{"a":1}"#, #"{"a":"text"}"#), (#"{"a":null,"b":[1,2]}"#, #"{"a":true,"b":["x",-2.5e7]}"#),
            ("5", #""a""#), (#"{"a" : 1 , "b":2}"#, #"{"a" : 10 , "b":200}"#), ("{}", "{}"),
            ("[[],{}]", "[[],{}]"),
            (#"{"a":"x \" : y"}"#, #"{"a":""}"#), (#"{"a":"\\"}"#, #"{"a":"\\\\"}"#),
        ]
    )
    func scalars(old: String, new: String) {
        #expect(isFound(old, new) && isFound(new, old))
    }

    @Test(
        "names, brackets, their number and what separates them have to be the same",
        arguments: [
            (#"{"a":1}"#, #"{"b":1}"#), (#"{"a":1}"#, #"{"a":1,"b":2}"#), (#"{"a":1}"#, #"{"a":[]}"#),
            (#"{"a":1}"#, #"{"a":{}}"#), (#"["a"]"#, #"{"a":1}"#), ("[1]", "[1,2]"), ("[1,2]", "[[1],2]"),
            (#"{"a":1}"#, #"{"a": 1}"#), (#"{"a":1}"#, #"{"a":1 }"#), (#"{"a":1}"#, #"{"a" :1}"#),
            (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#), ("[1 ,2]", "[1, 2]"),
            (#"{"\u0061":1}"#, #"{"a":100000}"#),
            (#"{"a" :1}"#, #"{"b" :1}"#), ("", "1"), ("1", ""),
        ]
    )
    func structure(old: String, new: String) {
        #expect(!isFound(old, new) && !isFound(new, old))
    }

    @Test("as many scalars as the limit may have other lengths, and one more may not")
    func shifts() {
        for count in [ShapeShift.shiftsMax, ShapeShift.shiftsMax + 1] {
            let (old, new) = ([Int](repeating: 1, count: count), [Int](repeating: 10, count: count))
            #expect(isFound("\(old)", "\(new)") == (count == ShapeShift.shiftsMax))
        }
    }

    @Test("values up to the limit are compared, and longer ones only if other digits are all that differs")
    func comparedBytes() {
        for count in [ShapeShift.comparedBytesMax, ShapeShift.comparedBytesMax + 1] {
            let text = String(repeating: "x", count: count - 13)
            let (old, new) = ("[\"\(text)\",100000,9]", "[\"\(text)\",10000,9]")
            #expect(old.utf8.count == count)
            #expect(isFound(old, new) == (count == ShapeShift.comparedBytesMax))
            #expect(isFound(old, "[\"\(text)\",200000,9]"))
        }
    }

    @Test("places are known of as many pointers as the limit, and of no more")
    func pointers() throws {
        for count in [KnownPlaces.pointersMax, KnownPlaces.pointersMax + 1] {
            let text = "[" + (0..<count).map { "\"/\($0)\"" }.joined(separator: ",") + "]"
            let set = try JSONPointerSet(array: Array(text.utf8).span, at: 0)
            let isKnown = KnownPlaces(of: set, in: Array("[1,2,3,4,5]".utf8).span) != nil
            #expect(isKnown == (count == KnownPlaces.pointersMax))
        }
    }

    @Test("a patch is scanned for up to the limits of bytes and members, and made in any case")
    func limits() {
        var comparer = JSONComparer()
        for members in [16, 17] {
            let inner = (0..<members).map { "\"m\(10 + $0)\":1" }.joined(separator: ",")
            expectLimit("{\(inner),\"l\":[1,2]}", members + 1 <= 16, &comparer)
            expectLimit("{\(inner)}", members <= 16, &comparer)
        }
        for bytes in [MergeDifference.scannedBytesMax, MergeDifference.scannedBytesMax + 1] {
            let filler = String(repeating: "x", count: bytes - #"{"n":1,"t":""}"#.utf8.count)
            expectLimit("{\"n\":1,\"t\":\"\(filler)\"}", bytes <= MergeDifference.scannedBytesMax, &comparer)
        }
        expectLimit(#"{"m11":1,"an escape":"\n"}"#, false, &comparer)
    }

    private func expectLimit(_ old: String, _ isScanned: Bool, _ comparer: inout JSONComparer) {
        let new = old.replacingOccurrences(of: ":1", with: ":2", count: 1)
        var any = ByteBuffer()
        var next = ByteBuffer()
        let (left, right) = (Array(old.utf8), Array(new.utf8))
        let isPatch = MergeDifference.append(from: left.span, to: right.span, into: &any, using: &comparer)
        let isNext = MergeDifference.appendNext(from: left.span, to: right.span, ShapeShift(), into: &next)
        #expect(isPatch && isNext == (isScanned ? true : nil))
        if isScanned { #expect(text(next) == text(any)) }
    }
}

extension String {
    /// The text with the first occurrence replaced.
    fileprivate func replacingOccurrences(of text: String, with other: String, count: Int) -> String {
        var result = self
        for _ in 0..<count {
            if let range = result.firstRange(of: text) { result.replaceSubrange(range, with: other) }
        }
        return result
    }
}
