// The conformance files of JSONTestSuite, if they are beside the package. Each is published
// as a value, and the broker survives all of them.

import Foundation
import PlugboardPosix
import TestSupport
import Testing

@Suite("JSONTestSuite", .someAtATime)
struct JSONTestSuiteTests {
    /// The cases that the suite leaves open (`i_`); nil means accepted. Numbers of any size are
    /// values, because nobody calculates with them. Half a surrogate pair is no character.
    private static let pinned: [String: String?] = [
        "i_number_double_huge_neg_exp": nil,
        "i_number_huge_exp": nil,
        "i_number_neg_int_huge_exp": nil,
        "i_number_pos_double_huge_exp": nil,
        "i_number_real_neg_overflow": nil,
        "i_number_real_pos_overflow": nil,
        "i_number_real_underflow": nil,
        "i_number_too_big_neg_int": nil,
        "i_number_too_big_pos_int": nil,
        "i_number_very_big_negative_int": nil,
        "i_object_key_lone_2nd_surrogate": "bad_utf8",
        "i_string_1st_surrogate_but_2nd_missing": "bad_utf8",
        "i_string_1st_valid_surrogate_2nd_invalid": "bad_utf8",
        "i_string_UTF-16LE_with_BOM": "bad_json",
        "i_string_UTF-8_invalid_sequence": "bad_utf8",
        "i_string_UTF8_surrogate_U+D800": "bad_utf8",
        "i_string_incomplete_surrogate_and_escape_valid": "bad_utf8",
        "i_string_incomplete_surrogate_pair": "bad_utf8",
        "i_string_incomplete_surrogates_escape_valid": "bad_utf8",
        "i_string_invalid_lonely_surrogate": "bad_utf8",
        "i_string_invalid_surrogate": "bad_utf8",
        "i_string_invalid_utf-8": "bad_utf8",
        "i_string_inverted_surrogates_U+1D11E": "bad_utf8",
        "i_string_iso_latin_1": "bad_utf8",
        "i_string_lone_second_surrogate": "bad_utf8",
        "i_string_lone_utf8_continuation_byte": "bad_utf8",
        "i_string_not_in_unicode_range": "bad_utf8",
        "i_string_overlong_sequence_2_bytes": "bad_utf8",
        "i_string_overlong_sequence_6_bytes": "bad_utf8",
        "i_string_overlong_sequence_6_bytes_null": "bad_utf8",
        "i_string_truncated-utf-8": "bad_utf8",
        "i_string_utf16BE_no_BOM": "bad_json",
        "i_string_utf16LE_no_BOM": "bad_json",
        "i_structure_500_nested_arrays": "too_deep",
        "i_structure_UTF-8_BOM_empty_object": "bad_json",
    ]

    /// Files whose mistake is a line feed. On the wire it would end the line, so only the scanner
    /// checks them.
    private static let unsendable: Set = ["n_string_unescaped_newline"]

    static let isPresent = FileManager.default.fileExists(atPath: ProtocolFolder.jsonTestSuite.path)

    @Test(
        "y_ is accepted and comes back, n_ is refused, i_ is as decided",
        .enabled(if: isPresent, "../shared/data/json-test-suite is not there"),
        arguments: RunningBroker.pollers
    )
    func conforms(_ poller: PollerKind) throws {
        let broker = try RunningBroker(poller: poller)
        let peer = try broker.connect()
        var counts: [Character: Int] = [:]
        for file in try ProtocolFolder.names(in: ProtocolFolder.jsonTestSuite) {
            let name = String(file.dropLast(".json".count))
            let url = ProtocolFolder.jsonTestSuite.appendingPathComponent(file)
            try Self.check(name, Array(try Data(contentsOf: url)), peer)
            counts[file.first ?? "?", default: 0] += 1
        }
        #expect(counts == ["y": 95, "n": 188, "i": 35])
    }

    private static func check(_ name: String, _ content: [UInt8], _ peer: LinePeer) throws {
        let scanned = Wire.code(of: content)
        judge(name, scanned, "the scanner")
        if unsendable.contains(name) { return }
        // A line feed elsewhere is white space, and any other white space does as well.
        let value = content.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
        try peer.send(Array(#"{"op":"publish","id":"p","key":"k","value":"#.utf8) + value + Array("}\n".utf8))
        try peer.send(#"{"op":"get","id":"g","key":"k"}"# + "\n")
        let answer = try JSONNode(try peer.line() ?? [])
        let kept = try JSONNode(try peer.line() ?? [])
        judge(name, answer["error"]?.string, "the broker")
        #expect(kept["id"]?.string == "g", "\(name): the broker answers the next line")
        if answer["error"] == nil { #expect(kept["value"]?.bytes == trimmed(value), "\(name)") }
        if answer["ok"] != nil { #expect(answer["id"]?.string == "p", "\(name)") }
    }

    private static func judge(_ name: String, _ code: String?, _ judge: Comment) {
        switch name.first {
        case "y": #expect(code == nil, "\(name), \(judge)")
        case "n": #expect(["bad_json", "bad_utf8", "too_deep"].contains(code), "\(name), \(judge)")
        default:
            #expect(pinned[name] == .some(code), "\(name), \(judge)")
        }
    }

    /// White space round a value isn't part of it.
    private static func trimmed(_ value: [UInt8]) -> [UInt8] {
        let isSpace = { (byte: UInt8) in [0x20, 0x09].contains(byte) }
        let start = value.firstIndex { !isSpace($0) } ?? 0
        let end = value.lastIndex { !isSpace($0) } ?? value.count - 1
        return Array(value[start...end])
    }
}
