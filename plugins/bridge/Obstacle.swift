// What etcd may have and no bus can: keys and values beyond the limits of the bus, and keys that never cross.
// Both directions ask here. The answer depends on nothing else, so it is the same after a restart.

import PlugboardClient
import PlugboardMemory
import PlugboardWire

/// Why a key or a value can't cross the bridge.
enum Obstacle: Error, Equatable, Sendable {
    case key(Key.Fault)
    /// Only a broker writes such keys.
    case reserved
    /// Each bus has its own keys of bridges.
    case bridgeKey
    case json(reason: String)
    case valueBytes(Int)

    private static let bridgeKeys = Array("bridge.".utf8)

    /// What is wrong with a key; nil if it may cross.
    init?(key: Span<UInt8>) {
        if let fault = Key.fault(key) {
            self = .key(fault)
        } else {
            self.init(spelling: key)
        }
    }

    /// What keeps all keys of a pattern, or a key, from crossing; nil if nothing does.
    init?(spelling: Span<UInt8>) {
        if Key.isReserved(spelling) {
            self = .reserved
        } else if spelling.starts(with: Self.bridgeKeys.span) {
            self = .bridgeKey
        } else {
            return nil
        }
    }

    /// What is wrong with a value that is JSON; nil if it may cross.
    init?(value: JSON) {
        guard value.bytes.count > BridgeLimits.valueBytesMax else { return nil }
        self = .valueBytes(value.bytes.count)
    }

    /// Whether no value of this key could cross.
    var isOfKey: Bool {
        switch self {
        case .key, .reserved, .bridgeKey: true
        case .json, .valueBytes: false
        }
    }
}

extension Obstacle: CustomStringConvertible {
    var description: String {
        switch self {
        case .key(let fault): "no key of a bus: \(fault.rawValue)"
        case .reserved: "no key of a bus: a token begins with $"
        case .bridgeKey: "keys under bridge. stay on their bus"
        case .json(let reason): "no value of a bus: \(reason)"
        case .valueBytes(let count):
            "the value has \(count) bytes, and at most \(BridgeLimits.valueBytesMax) cross"
        }
    }
}
