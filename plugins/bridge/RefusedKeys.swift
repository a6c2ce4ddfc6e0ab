// The keys of etcd that this bus can't have, as they are now. They live longer than a session, because each
// session meets them again. What is written or deleted there later is forgotten here.

import PlugboardClient
import PlugboardWire

/// A key of etcd that was refused.
struct RefusedKey: Sendable, Equatable {
    /// Cut to what a key may have.
    let key: String
    let why: Obstacle
    /// Its revision in etcd.
    let revision: Int

    /// The name of any key for people: bytes that aren't UTF-8 are spelled `\\xff`, which no key of a bus has.
    static func name(_ key: [UInt8]) -> String {
        var (name, rest) = ("", key.prefix(BridgeLimits.namedBytesMax))
        while let place = UTF8Sequence.firstMalformed(rest.span) {
            let byte = rest[rest.startIndex + place]
            name += String(decoding: rest.prefix(place), as: UTF8.self) + "\\x" + String(byte, radix: 16)
            rest = rest.dropFirst(place + 1)
        }
        name += String(decoding: rest, as: UTF8.self)
        return key.count > BridgeLimits.namedBytesMax ? "\(name)… (\(key.count) bytes)" : name
    }

    var json: JSON {
        .object(["key": .string(key), "why": .string("\(why)"), "revision": .integer(revision)])
    }
}

struct RefusedKeys: Sendable {
    /// How many there have been.
    private(set) var count = 0
    private var present: [String: RefusedKey] = [:]

    var isEmpty: Bool { present.isEmpty }
    /// How many there are now, as far as they are remembered.
    var presentCount: Int { present.count }

    /// The newest ones, the newest first.
    var newest: [RefusedKey] {
        Array(present.values.sorted { $0.revision > $1.revision }.prefix(BridgeLimits.namedMax))
    }

    /// Forgets what etcd doesn't have any more.
    mutating func meet(_ range: [EtcdChange]) {
        guard !present.isEmpty else { return }
        let keys = Set(range.lazy.filter { $0.content != .delete }.map(\.key))
        present = present.filter { keys.contains($0.key) }
    }

    /// Notes what became of a change. Returns the refusal if it is a new one.
    mutating func note(_ step: MirrorStep, _ change: EtcdChange) -> RefusedKey? {
        let known = present[change.key]
        guard change.revision > known?.revision ?? 0 else { return nil }
        guard step == .refuse, let why = change.obstacle else {
            if known != nil { present[change.key] = nil }
            return nil
        }
        let refusal = RefusedKey(key: change.key, why: why, revision: change.revision)
        count += 1
        if known != nil || present.count < BridgeLimits.refusalsMax { present[change.key] = refusal }
        return refusal
    }
}
