// Reads etcd's frequent answers: lines of a watch, transactions, ranges. A decoder took more than a tenth of
// the bridge's time, and delayed each event. Unknown members are skipped; a form that etcd doesn't write is
// an error. A test compares this with a decoder.

import PlugboardMemory
import PlugboardWire

/// An answer that is read without Codable.
protocol EtcdReadable {
    init(_ text: Span<UInt8>) throws
}

/// An answer that isn't what etcd writes.
struct EtcdUnreadable: Error {
    let expected: String
}

extension Span where Element == UInt8 {
    /// Calls `body` with the name and the text of each member of the object that these bytes are.
    func forEachMember(_ body: (Span<UInt8>, Span<UInt8>) throws -> Void) throws {
        guard var walk = JSONWalk(self, opening: "{") else { throw EtcdUnreadable(expected: "an object") }
        while let (name, value) = try walk.nextMember() {
            try body(name.bytes(of: self), value.bytes(of: self))
        }
        try walk.finish()
    }

    /// The elements of the array that these bytes are.
    func list<Part: EtcdReadable>(of type: Part.Type) throws -> [Part] {
        guard var walk = JSONWalk(self, opening: "[") else { throw EtcdUnreadable(expected: "a list") }
        var list: [Part] = []
        while let element = try walk.nextElement() { list.append(try Part(element.bytes(of: self))) }
        return list
    }

    fileprivate var isTrue: Bool { isEqual(to: "true") }

    /// The spelling of a string.
    private var spelling: Span<UInt8> {
        @_lifetime(copy self)
        get throws {
            guard count >= 2, first == UInt8(ascii: "\"") else { throw EtcdUnreadable(expected: "a string") }
            return self[1..<(count - 1)]
        }
    }

    fileprivate var string: String { get throws { JSONText.string(try spelling) } }

    /// A number, also one that is written as a string.
    fileprivate var number: EtcdNumber {
        get throws {
            guard let number = EtcdNumber(text: String(first == UInt8(ascii: "\"") ? try spelling : self))
            else { throw EtcdUnreadable(expected: "a number") }
            return number
        }
    }

    /// Bytes in base64.
    fileprivate var base64: [UInt8] {
        get throws {
            let text = try spelling
            var bytes: [UInt8] = []
            bytes.reserveCapacity(text.count / 4 * 3)
            var (bits, filled, index) = (UInt32(0), 0, 0)
            while index < text.count, text[index] != UInt8(ascii: "=") {
                guard let six = Base64.value(of: text[index]) else {
                    throw EtcdUnreadable(expected: "base64")
                }
                (bits, filled, index) = (bits << 6 | six, filled + 6, index + 1)
                guard filled >= 8 else { continue }
                filled -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(filled)))
            }
            return bytes
        }
    }
}

/// The alphabet of RFC 4648.
private enum Base64 {
    static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

extension EtcdHeader: EtcdReadable {
    init(_ text: Span<UInt8>) throws {
        self.init()
        try text.forEachMember { name, value in
            if name.isEqual(to: "cluster_id") { cluster_id = try value.number }
            if name.isEqual(to: "revision") { revision = try value.number }
        }
    }
}

extension EtcdKeyValue: EtcdReadable {
    init(_ text: Span<UInt8>) throws {
        self.init()
        try text.forEachMember { name, value in
            if name.isEqual(to: "key") { key = Data(try value.base64) }
            if name.isEqual(to: "value") { self.value = try value.base64 }
            if name.isEqual(to: "mod_revision") { mod_revision = try value.number }
            if name.isEqual(to: "lease") { lease = try value.number }
        }
    }
}

extension EtcdRangeReply: EtcdReadable {
    init(_ text: Span<UInt8>) throws {
        self.init()
        try text.forEachMember { name, value in
            if name.isEqual(to: "header") { header = try EtcdHeader(value) }
            if name.isEqual(to: "kvs") { kvs = try value.list(of: EtcdKeyValue.self) }
            if name.isEqual(to: "more") { more = value.isTrue }
        }
    }
}

extension EtcdTransactionReply: EtcdReadable {
    init(_ text: Span<UInt8>) throws {
        self.init()
        try text.forEachMember { name, value in
            if name.isEqual(to: "header") { header = try EtcdHeader(value) }
            if name.isEqual(to: "succeeded") { succeeded = value.isTrue }
            if name.isEqual(to: "responses") { responses = try value.list(of: Response.self) }
        }
    }
}

extension EtcdTransactionReply.Response: EtcdReadable {
    init(_ text: Span<UInt8>) throws {
        self.init()
        try text.forEachMember { name, value in
            if name.isEqual(to: "response_range") { response_range = try EtcdRangeReply(value) }
        }
    }
}

extension EtcdWatchLine: EtcdReadable {
    init(_ text: Span<UInt8>) throws {
        self.init()
        try text.forEachMember { name, value in
            if name.isEqual(to: "result") { result = try Result(value) }
            if name.isEqual(to: "error") { error = try Failure(value) }
        }
    }
}

extension EtcdWatchLine.Result: EtcdReadable {
    init(_ text: Span<UInt8>) throws {
        self.init()
        try text.forEachMember { name, value in
            if name.isEqual(to: "header") { header = try EtcdHeader(value) }
            if name.isEqual(to: "created") { created = value.isTrue }
            if name.isEqual(to: "canceled") { canceled = value.isTrue }
            if name.isEqual(to: "cancel_reason") { cancel_reason = try value.string }
            if name.isEqual(to: "compact_revision") { compact_revision = try value.number }
            if name.isEqual(to: "fragment") { fragment = value.isTrue }
            if name.isEqual(to: "events") { events = try value.list(of: EtcdWatchLine.Event.self) }
        }
    }
}

extension EtcdWatchLine.Event: EtcdReadable {
    init(_ text: Span<UInt8>) throws {
        self.init()
        try text.forEachMember { name, value in
            if name.isEqual(to: "type") { type = try value.string }
            if name.isEqual(to: "kv") { kv = try EtcdKeyValue(value) }
        }
    }
}

extension EtcdWatchLine.Failure: EtcdReadable {
    init(_ text: Span<UInt8>) throws {
        self.init()
        try text.forEachMember { name, value in
            if name.isEqual(to: "message") { message = try value.string }
        }
    }
}
