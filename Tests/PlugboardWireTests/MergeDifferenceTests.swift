import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@Suite("Differences as merge patches")
struct MergeDifferenceTests {
    /// The patch from one value to the other; nil if the whole value must be sent.
    private func patch(_ old: String, _ new: String) -> String? {
        var comparer = JSONComparer()
        var buffer = ByteBuffer()
        buffer.append("before:")
        let isPatch = withBytes(old) { old in
            withBytes(new) { MergeDifference.append(from: old, to: $0, into: &buffer, using: &comparer) }
        }
        #expect(text(buffer).hasPrefix("before:"))
        #expect(isPatch || buffer.count == 7)
        return isPatch ? String(text(buffer).dropFirst(7)) : nil
    }

    @Test("exist for as many names and values as the limit, and for no more")
    func limit() {
        // Each member has a name and a value; the object itself is one more.
        for count in [MergeDifference.nodesMax / 2 - 1, MergeDifference.nodesMax / 2] {
            let members = (1..<count).map { "\"a\($0)\":1," }.joined()
            let expected = count * 2 + 1 <= MergeDifference.nodesMax ? #"{"z":2}"# : nil
            #expect(patch("{\(members)\"z\":1}", "{\(members)\"z\":2}") == expected)
            #expect(patch("{\"z\":1}", "{\(members)\"z\":2}") == nil)
        }
    }

    private func applied(_ patch: String, to value: String) -> String {
        var buffer = ByteBuffer()
        withBytes(patch) { patch in withBytes(value) { MergePatch.apply(patch, to: $0, into: &buffer) } }
        return text(buffer)
    }

    @Test(
        "have exactly what changed",
        arguments: [
            (#"{"a":1,"b":2}"#, #"{"a":1,"b":3}"#, #"{"b":3}"#),
            (#"{"a":1,"b":2}"#, #"{"a":1,"b":2,"c":{"d":[null]}}"#, #"{"c":{"d":[null]}}"#),
            (#"{"a":"long enough","b":2}"#, #"{"a":"long enough"}"#, #"{"b":null}"#),
            (#"{"a":{"b":1,"c":"unchanged"}}"#, #"{"a":{"b":2,"c":"unchanged"}}"#, #"{"a":{"b":2}}"#),
            (#"{"a":[1,2],"b":"unchanged"}"#, #"{"a":[1,3],"b":"unchanged"}"#, #"{"a":[1,3]}"#),
            (#"{"a":1.0,"b":"unchanged"}"#, #"{"a":1.00,"b":"unchanged"}"#, #"{"a":1.00}"#),
            (#"{"e":null,"a":1}"#, #"{"e":null,"a":2}"#, #"{"a":2}"#),
            (#"{"a":{"e":null},"b":1}"#, #"{"a":{"e":null},"b":2}"#, #"{"b":2}"#),
            (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, "{}"), (#"{"a":1}"#, #"{"\u0061":1}"#, "{}"),
            (#"{"a":[{"x":1,"y":2}]}"#, #"{"a":[{"y":2,"x":1}]}"#, "{}"),
            (
                #"{"a":{"b":{"c":1}},"z":"unchanged"}"#, #"{"a":{"b":{}},"z":"unchanged"}"#,
                #"{"a":{"b":{"c":null}}}"#
            ),
            (#"{"a":1,"z":"unchanged"}"#, #"{"a":{},"z":"unchanged"}"#, #"{"a":{}}"#),
            (
                #"{"b":1,"a":2,"z":"still unchanged"}"#, #"{"z":"still unchanged","y":3}"#,
                #"{"y":3,"b":null,"a":null}"#
            ),
        ]
    )
    func differences(old: String, new: String, expected: String) {
        #expect(patch(old, new) == expected)
        #expect(Tree(applied(expected, to: old))?.asSpelled == Tree(new)?.asSpelled)
    }

    @Test(
        "don't exist if a merge patch can't express them, or isn't shorter",
        arguments: [
            ("1", "2"), ("[1,2,3,4,5,6]", "[1,2,3,4,5,7]"), (#"{"a":1}"#, "1"), ("1", #"{"a":1}"#),
            ("{}", "{}"),
            (#"{"a":1,"b":"unchanged"}"#, #"{"a":null,"b":"unchanged"}"#),
            (#"{"b":"unchanged"}"#, #"{"a":null,"b":"unchanged"}"#),
            (#"{"b":"unchanged"}"#, #"{"a":{"c":null},"b":"unchanged"}"#),
            (#"{"a":[],"b":"unchanged"}"#, #"{"a":{"c":null},"b":"unchanged"}"#),
            (#"{"a":{"b":1},"z":"unchanged"}"#, #"{"a":null,"z":"unchanged"}"#),
            (#"{"a":1,"a":2,"z":"unchanged"}"#, #"{"a":2,"z":"unchanged"}"#),
            (#"{"a":2,"z":"unchanged"}"#, #"{"a":1,"a":2,"z":"unchanged"}"#),
            (#"{"z":"unchanged"}"#, #"{"a":{"b":1,"b":2},"z":"unchanged"}"#),
            (#"{"a":1}"#, #"{"a":2}"#), (#"{"long":1,"other":2}"#, "{}"), (#"{"abcdefgh":1}"#, #"{"b":1}"#),
        ]
    )
    func none(old: String, new: String) {
        #expect(patch(old, new) == nil)
    }

    @Test("an object that doesn't change may have a name twice")
    func untouchedRepeats() {
        let old = #"{"a":{"b":1,"b":2},"c":1}"#
        #expect(patch(old, #"{"a":{"b":1,"b":2},"c":2}"#) == #"{"c":2}"#)
        // An array is sent completely, including repeated names and nulls.
        #expect(patch(#"{"a":[],"z":"unchanged"}"#, #"{"a":[{"b":null,"b":null}],"z":"unchanged"}"#) != nil)
    }

    @Test("are shorter than the value, or aren't told")
    func length() {
        #expect(patch(#"{"a":1,"b":2}"#, #"{"a":2,"b":2}"#) == #"{"a":2}"#)
        #expect(patch(#"{"a":1,"":2}"#, #"{"a":2}"#) == nil)
        #expect(patch(#"{"abc":1,"":2}"#, #"{"abc":1}"#) == nil)
        #expect(patch(#"{"abcd":1,"":2}"#, #"{"abcd":1}"#) == #"{"":null}"#)
    }

    @Test("of deep values are deep", arguments: [Limits.depthMax])
    func deep(depth: Int) {
        func nested(_ inner: String) -> String {
            String(repeating: #"{"z":0,"a":"#, count: depth) + inner + String(repeating: "}", count: depth)
        }
        let expected = String(repeating: #"{"a":"#, count: depth) + "2" + String(repeating: "}", count: depth)
        #expect(patch(nested("1"), nested("2")) == expected)
    }

    @Test("are found in reasonable time among many members")
    func many() {
        let members = (0..<20_000).map { "\"name \($0)\":\($0)" }
        let old = "{\(members.joined(separator: ","))}"
        let new = "{\(members.reversed().joined(separator: ",")),\"new\":1}"
        #expect(patch(old, new) == #"{"new":1}"#)
    }

    @Test("give the new value when they are applied, and are found whenever they exist", arguments: 0..<100)
    func property(seed: Int) {
        var random = SeededRandom(seed)
        var patches = 0
        for _ in 0..<100 {
            let recipe = Tree.Recipe(repeats: seed % 4 == 0, nulls: seed % 3 != 0)
            let old = Tree.object(recipe, &random)
            var new = old
            for _ in 0..<random.below(4) { new = new.changed(recipe, &random) }
            if random.oneIn(8) { new = .random(recipe, &random) }
            let (oldText, newText) = (old.spelled(&random), new.spelled(&random))
            guard let patch = patch(oldText, newText) else {
                #expect(Self.cannotBeSaid(old, new, length: newText.utf8.count), "\(oldText) \(newText)")
                continue
            }
            patches += 1
            #expect(patch.utf8.count < newText.utf8.count)
            #expect(failure(patch) == nil)
            let result = applied(patch, to: oldText)
            #expect(Tree(result)?.asSpelled == new.asSpelled, "\(oldText) \(newText) \(patch) \(result)")
        }
        #expect(patches > 20)
    }

    /// Whether a patch made by the rules doesn't work, or isn't shorter.
    private static func cannotBeSaid(_ old: Tree, _ new: Tree, length: Int) -> Bool {
        if old.hasRepeats || new.hasRepeats { return true }
        guard case .object = new, let patch = simplePatch(old, new) else { return true }
        // Escapes and white space of the original make the real patch longer, so only a clear case
        // counts.
        return patch.text.utf8.count * 2 >= length || merged(patch, into: old)?.asSpelled != new.asSpelled
    }

    private static func simplePatch(_ old: Tree, _ new: Tree) -> Tree? {
        guard case .object(let before) = old, case .object(let after) = new else { return new }
        var patch: [Tree.Member] = []
        for member in after {
            let known = before.first { $0.name == member.name }
            if known?.value.asSpelled == member.value.asSpelled { continue }
            let change = known.map { simplePatch($0.value, member.value) } ?? member.value
            guard let change else { return nil }
            patch.append(Tree.Member(name: member.name, value: change))
        }
        for member in before where !after.contains(where: { $0.name == member.name }) {
            patch.append(Tree.Member(name: member.name, value: .null))
        }
        return .object(patch)
    }

    /// RFC 7396, section 2, word for word.
    private static func merged(_ patch: Tree, into target: Tree?) -> Tree? {
        guard case .object(let changes) = patch else { return patch }
        var members: [Tree.Member] = []
        if case .object(let existing)? = target { members = existing }
        for change in changes {
            let place = members.firstIndex { $0.name == change.name }
            if change.value == .null {
                if let place { members.remove(at: place) }
            } else if let value = merged(change.value, into: place.map { members[$0].value }) {
                let member = Tree.Member(name: change.name, value: value)
                if let place { members[place] = member } else { members.append(member) }
            }
        }
        return .object(members)
    }
}
