// One line from the broker, parsed once: its kind, and the places of the fields that this library knows.
// Values stay bytes. Unknown fields are skipped.

import PlugboardMemory
import PlugboardWire

/// The places of a line's fields. They are valid only with the line's bytes.
struct ParsedLine: Sendable {
    enum Kind: Sendable { case ok, error, event, unknown }

    var kind = Kind.unknown
    /// The text of the first member: `ok`, `error` or `event`.
    var head = ByteRange.none
    var id = ByteRange.none
    var sub = ByteRange.none
    /// Texts as spelled, without their quotes.
    var key = ByteRange.none
    var by = ByteRange.none
    var origin = ByteRange.none
    var when = ByteRange.none
    var message = ByteRange.none
    var hint = ByteRange.none
    var reason = ByteRange.none
    var epoch = ByteRange.none
    var version = ByteRange.none
    /// Values as spelled.
    var revision = ByteRange.none
    var value = ByteRange.none
    var old = ByteRange.none
    var cause = ByteRange.none
    var keys = ByteRange.none
    var more = ByteRange.none
    var initial = ByteRange.none
    /// The text of `call` in an event.
    var call = ByteRange.none
    var live = ByteRange.none
    var fields = ByteRange.none
    var gone = ByteRange.none
    var patch = ByteRange.none
    var skipped = ByteRange.none
    var unacked = ByteRange.none
    var owed = ByteRange.none
    var dropped = ByteRange.none
    var first = ByteRange.none
    var last = ByteRange.none
    var protocolNumber = ByteRange.none
    var client = ByteRange.none
    /// The text of `name` in a greeting.
    var name = ByteRange.none
    var limits = ByteRange.none
    var features = ByteRange.none
    var resumed = ByteRange.none
    var spare = ByteRange.none
    var emits = ByteRange.none
    var timeToLive = ByteRange.none
    var grace = ByteRange.none
    /// The text of `while`.
    var whileConnected = ByteRange.none

    /// Nil if the bytes are not a JSON object.
    init?(_ bytes: Span<UInt8>) {
        guard var walk = JSONWalk(bytes, opening: "{") else { return nil }
        do throws(JSONFailure) {
            while let (name, value) = try walk.nextMember() { note(name.bytes(of: bytes), value, bytes) }
        } catch {
            return nil
        }
    }

    private mutating func note(_ name: Span<UInt8>, _ value: ByteRange, _ bytes: Span<UInt8>) {
        let text =
            bytes[value.start] == UInt8(ascii: "\"") ? ByteRange(value.start + 1, value.end - 1) : .none
        switch name.count {
        case 2: noteShort(name, value, text)
        case 3: noteOfThree(name, value, text)
        case 4: noteOfFour(name, value, text)
        case 5: noteOfFive(name, value, text)
        default: noteLong(name, value, text)
        }
    }

    /// The first member says what a line is. A reply may also have a later member that is called `event`.
    private mutating func begin(_ kind: Kind, _ text: ByteRange) {
        if self.kind == .unknown { (self.kind, head) = (kind, text) }
    }

    private mutating func noteShort(_ name: Span<UInt8>, _ value: ByteRange, _ text: ByteRange) {
        if name.spells("id") { id = value }
        if name.spells("by") { by = text }
        if name.spells("ok") { begin(.ok, text) }
    }

    private mutating func noteOfThree(_ name: Span<UInt8>, _ value: ByteRange, _ text: ByteRange) {
        if name.spells("sub") { sub = value }
        if name.spells("key") { key = text }
        if name.spells("old") { old = value }
        if name.spells("ttl") { timeToLive = value }
    }

    private mutating func noteOfFour(_ name: Span<UInt8>, _ value: ByteRange, _ text: ByteRange) {
        if name.spells("live") { live = value }
        if name.spells("gone") { gone = value }
        if name.spells("call") { call = text }
        if name.spells("owed") { owed = value }
        if name.spells("last") { last = value }
        if name.spells("hint") { hint = text }
        if name.spells("keys") { keys = value }
        if name.spells("more") { more = value }
        if name.spells("when") { when = text }
        if name.spells("name") { self.name = text }
    }

    private mutating func noteOfFive(_ name: Span<UInt8>, _ value: ByteRange, _ text: ByteRange) {
        if name.spells("event") { begin(.event, text) }
        if name.spells("value") { self.value = value }
        if name.spells("error") { begin(.error, text) }
        if name.spells("cause") { cause = value }
        if name.spells("patch") { patch = value }
        if name.spells("epoch") { epoch = text }
        if name.spells("emits") { emits = value }
        if name.spells("first") { first = value }
        if name.spells("spare") { spare = value }
        if name.spells("grace") { grace = value }
        if name.spells("while") { whileConnected = text }
    }

    private mutating func noteLong(_ name: Span<UInt8>, _ value: ByteRange, _ text: ByteRange) {
        if name.spells("revision") { revision = value }
        if name.spells("initial") { initial = value }
        if name.spells("message") { message = text }
        if name.spells("reason") { reason = text }
        if name.spells("origin") { origin = text }
        if name.spells("fields") { fields = value }
        if name.spells("skipped") { skipped = value }
        if name.spells("unacked") { unacked = value }
        if name.spells("dropped") { dropped = value }
        if name.spells("protocol") { protocolNumber = value }
        if name.spells("client") { client = value }
        if name.spells("version") { version = text }
        if name.spells("limits") { limits = value }
        if name.spells("features") { features = value }
        if name.spells("resumed") { resumed = value }
    }
}

extension Span where Element == UInt8 {
    /// Whether these bytes are those of a literal.
    @inline(__always)
    func spells(_ literal: StaticString) -> Bool {
        isEqual(to: literal)
    }

    /// The text of a field. Escapes are decoded, and malformed UTF-8 is replaced. Nil if the field is
    /// absent.
    func text(_ range: ByteRange) -> String? {
        guard range.start > 0 else { return nil }
        return JSONText.string(range.bytes(of: self))
    }

    /// The texts in a field that is an array. Other elements are left out.
    func texts(_ range: ByteRange) -> [String] {
        guard !range.isEmpty, var elements = JSONWalk(self, from: range.start, opening: "[") else {
            return []
        }
        var texts: [String] = []
        // The line was parsed before, so nothing is thrown here.
        while let element = try? elements.nextElement() {
            guard self[element.start] == UInt8(ascii: "\"") else { continue }
            if let text = text(ByteRange(element.start + 1, element.end - 1)) { texts.append(text) }
        }
        return texts
    }

    /// The members of a field that is an object; empty if it isn't one.
    func parts(_ range: ByteRange) -> [String: JSON] {
        guard !range.isEmpty, var members = JSONWalk(self, from: range.start, opening: "{") else {
            return [:]
        }
        var parts: [String: JSON] = [:]
        // The line was parsed before, so nothing is thrown here.
        while let (name, value) = try? members.nextMember() {
            if let name = text(name) { parts[name] = JSON(copying: value.bytes(of: self)) }
        }
        return parts
    }

    /// The number of an integer field; nil if the field is absent or isn't an integer.
    func integer(_ range: ByteRange) -> Int? {
        guard range.count > 0, range.count <= 19 else { return nil }
        var value = 0
        for place in range.start..<range.end {
            let digit = Int(self[place]) - 0x30
            guard 0...9 ~= digit else { return nil }
            value = value * 10 + digit
            if value > Limits.integerMax { return nil }
        }
        return value
    }

    /// What ends a value with a connection; nil if nothing does.
    func lifetime(_ line: ParsedLine) -> Lifetime? {
        line.whileConnected.bytes(of: self).spells("connected") ? .connected : nil
    }

    func milliseconds(_ range: ByteRange) -> Duration? { integer(range).map { .milliseconds($0) } }

    /// Whether a field is `true`.
    func flag(_ range: ByteRange) -> Bool {
        range.bytes(of: self).spells("true")
    }
}
