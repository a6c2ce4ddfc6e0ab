import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@Suite("Parts of texts that aren't JSON")
struct PartFuzzTests {
    private let seeds = [
        #"{"a":{"b":[1,-2.5e3,"é\u00e9\ud83d\ude00",true,null]},"c":"","a":1}"#,
        #"["/a","/b~0c/~1","","/\u0061"]"#,
        #"{"/a":{"<":1e99,"in":["x",{"y":[]}]},"":{"exists":true,"prefix":"\n"}}"#, "-12.50E-3", #""\\\"""#,
    ]

    /// Passes bytes that may be anything to every function.
    private func tryAll(_ left: [UInt8], _ right: [UInt8], _ comparer: inout JSONComparer) {
        let event = UInt64.random(in: 1..<(.max / 2))
        withBytes(left) { left in
            withBytes(right) { right in
                let pointers = (try? JSONPointerSet(array: left, at: 0)) ?? JSONPointerSet()
                _ = pointers.withParts(of: right) { $0.found }
                var buffer = ByteBuffer()
                let hasChanged = pointers.appendChanges(
                    from: left, to: right, into: &buffer, using: &comparer
                )
                let conditions = try? Conditions(where: left, at: 0)
                let holds = conditions?.hold(for: right, using: &comparer)
                // Who asks about the same values again gets the same answers.
                for _ in 0..<3 {
                    comparer.ask(about: event)
                    var again = ByteBuffer()
                    let isSame =
                        hasChanged
                        == pointers.appendChanges(from: left, to: right, into: &again, using: &comparer)
                        && buffer.bytes.isEqual(to: again.bytes)
                        && holds == conditions?.hold(for: right, using: &comparer)
                    #expect(isSame)
                    comparer.endAsking()
                }
                _ = comparer.areEqual(left, right)
                _ = comparer.areEqual(left, right, .spelling)
                buffer.removeAll()
                let isPatch = MergeDifference.append(from: left, to: right, into: &buffer, using: &comparer)
                #expect(!isPatch || buffer.count < right.count)
            }
        }
    }

    @Test("cuts and changed bytes do no harm")
    func mutations() {
        var comparer = JSONComparer()
        var random = SeededRandom(1)
        for left in seeds.map({ Array($0.utf8) }) {
            for right in seeds.map({ Array($0.utf8) }) {
                for end in left.indices { tryAll(Array(left[..<end]), right, &comparer) }
                for place in left.indices {
                    var changed = left
                    changed[place] = UInt8(truncatingIfNeeded: random.next())
                    tryAll(changed, right, &comparer)
                    tryAll(right, changed, &comparer)
                }
            }
        }
    }

    @Test("random bytes do no harm either")
    func noise() {
        var comparer = JSONComparer()
        var random = SeededRandom(2)
        let alphabet = Array(#"{}[]",:\/~01-.eE+ "truefalsn<=>!ainx"#.utf8) + [0, 0x80, 0xC3, 0xFF]
        for _ in 0..<3_000 {
            let texts = (0..<2).map { _ in
                (0..<random.below(24)).map { _ in alphabet[random.below(alphabet.count)] }
            }
            tryAll(texts[0], texts[1], &comparer)
        }
    }

    @Test("what nests deeper than any value equals nothing else")
    func depth() {
        var comparer = JSONComparer()
        let deep = Array(String(repeating: "[", count: 100_000).utf8)
        tryAll(deep, deep, &comparer)
        tryAll(deep, Array(String(repeating: #"{"":"#, count: 50_000).utf8), &comparer)
        let closed = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        tryAll(Array(closed.utf8), Array(" \(closed)".utf8), &comparer)
    }
}
