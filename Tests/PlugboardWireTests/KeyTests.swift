import PlugboardWire
import TestSupport
import Testing

@Suite("Keys and patterns")
struct KeyTests {
    private func keyFault(_ text: String) -> Key.Fault? { withBytes(text) { Key.fault($0) } }
    private func patternFault(_ text: String) -> Key.Fault? { withBytes(text) { Pattern.fault($0) } }
    private func matches(_ pattern: String, _ key: String) -> Bool {
        withBytes(pattern) { pattern in withBytes(key) { Pattern.matches(pattern, $0) } }
    }

    @Test(
        "a key is tokens with dots between",
        arguments: ["a", "a.b", "cart.items", "é.😀", "$broker.x", "a-b_c/d:1"]
    )
    func accepted(key: String) {
        #expect(keyFault(key) == nil)
        #expect(patternFault(key) == nil)
    }

    @Test(
        "an invalid key says why",
        arguments: [
            ("", .empty), (".", .emptyToken), ("a.", .emptyToken), (".a", .emptyToken), ("a..b", .emptyToken),
            ("a b", .forbiddenCharacter), ("a\tb", .forbiddenCharacter), ("a\u{7F}", .forbiddenCharacter),
            ("a\u{85}b", .forbiddenCharacter), ("a\u{A0}b", .forbiddenCharacter),
            ("a\u{2003}b", .forbiddenCharacter),
            ("a\u{3000}", .forbiddenCharacter), ("a\u{1680}", .forbiddenCharacter),
            ("a\u{2028}", .forbiddenCharacter),
            ("a*", .forbiddenCharacter), ("*", .forbiddenCharacter), ("a\"b", .forbiddenCharacter),
            ("a\\b", .forbiddenCharacter),
        ] as [(String, Key.Fault)]
    )
    func refused(key: String, fault: Key.Fault) {
        #expect(keyFault(key) == fault)
    }

    @Test("a key has up to 256 bytes")
    func length() {
        #expect(keyFault(String(repeating: "k", count: Limits.keyBytesMax)) == nil)
        #expect(keyFault(String(repeating: "k", count: Limits.keyBytesMax + 1)) == .tooLong)
        #expect(withBytes([0x61, 0xC3]) { Key.fault($0) } == .malformed)
    }

    @Test(
        "wildcards stand alone, and ** last",
        arguments: [
            ("*", nil), ("**", nil), ("a.*.b", nil), ("a.**", nil), ("*.*.**", nil),
            ("**.a", .earlyDeepWildcard),
            ("a*", .wildcardInToken), ("*a", .wildcardInToken), ("***", .wildcardInToken),
            ("a.b**", .wildcardInToken),
        ] as [(String, Key.Fault?)]
    )
    func wildcards(pattern: String, fault: Key.Fault?) {
        #expect(patternFault(pattern) == fault)
    }

    @Test(
        "patterns match whole tokens",
        arguments: [
            ("a", "a", true), ("a", "b", false), ("a", "a.b", false), ("a.b", "a", false), ("*", "a", true),
            ("*", "a.b", false), ("a.*", "a.b", true), ("a.*", "a", false), ("a.*", "ab.c", false),
            ("*.b", "a.b", true), ("**", "a.b.c", true), ("a.**", "a", true), ("a.**", "a.b.c", true),
            ("a.**", "ab", false), ("a.*.**", "a", false), ("a.*.**", "a.b", true), ("*.x.*", "a.x.b", true),
            ("**", "$broker.stats", false), ("*.stats", "$broker.stats", false),
            ("$broker.*", "$broker.stats", true),
            ("$broker.**", "$broker.clients.7", true), ("a.**", "a.$x", false), ("a.$x.**", "a.$x.b", true),
        ]
    )
    func matching(pattern: String, key: String, expected: Bool) {
        #expect(matches(pattern, key) == expected)
    }

    @Test(
        "every match begins with the literal prefix",
        arguments: ["a.b.**", "a.*", "a.*.c", "**", "*", "ab.cd"]
    )
    func prefix(pattern: String) {
        withBytes(pattern) { pattern in
            let prefix = Array(Pattern.literalPrefix(pattern))
            for key in ["a", "a.b", "a.b.c", "a.x.c", "ab.cd", "ab"] {
                withBytes(key) { key in
                    if Pattern.matches(pattern, key) { #expect(Array(key).starts(with: prefix)) }
                }
            }
        }
    }

    @Test("a token that begins with $ is reserved")
    func reserved() {
        for (key, expected) in [("$a", true), ("a.$b", true), ("a$", false), ("a.b$.c", false)] {
            #expect(withBytes(key) { Key.isReserved($0) } == expected)
        }
    }

    @Test("a plugin's name is one token of a key, and different names are different tokens")
    func pluginNames() {
        let names = ["cart", "till 3", "till%203", "é", "a.b", "a_b-c", "$", "*", "A", "a\\"]
        let keys = names.map(HealthReport.key)
        #expect(
            keys.prefix(5) == [
                "cart.health", "till%203.health", "till%25203.health", "%C3%A9.health", "a%2Eb.health",
            ]
        )
        #expect(Set(keys).count == names.count)
        #expect(keys.map(HealthReport.name) == names)
        for token in ["%", "%4", "%41", "%2e", "%zz", "%+1", "%FF", "é"] {
            #expect(HealthReport.name(in: "\(token).health") == token)
        }
        for key in keys {
            #expect(Key.fault(Array(key.utf8).span) == nil && !Key.isReserved(Array(key.utf8).span))
        }
        let longest = String(repeating: " ", count: Limits.nameBytesMax)
        #expect(Key.fault(Array(HealthReport.key(of: longest).utf8).span) == nil)
    }
}
