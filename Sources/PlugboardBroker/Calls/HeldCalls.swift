// Calls that wait for a plugin to serve their key, because the plugin is starting. Owned by `Calls`. What
// always holds: a held call is in progress, its server is the supervisor's client, and its plugin counts it.

import PlugboardWire

/// The values of held calls, by the calls' numbers.
struct HeldCalls {
    /// How many bytes held calls may have.
    static let bytesMax = 16_777_216

    private struct Held {
        /// Empty if the call has none.
        let value: [UInt8]
        let bytes: Int
        let plugin: SupervisedPlugin
    }

    private var held: [UInt64: Held] = [:]
    private(set) var bytes = 0

    var isEmpty: Bool { held.isEmpty }

    /// The numbers of held calls, in the order of the calls.
    var numbers: [UInt64] { held.keys.sorted() }

    /// The plugin for which a call waits.
    func plugin(of number: UInt64) -> SupervisedPlugin? { held[number]?.plugin }

    func value(of number: UInt64) -> [UInt8]? { held[number]?.value }

    mutating func add(_ call: PendingCall, _ value: [UInt8], for plugin: SupervisedPlugin) {
        let count = call.key.count + value.count
        held[call.number] = Held(value: value, bytes: count, plugin: plugin)
        bytes += count
        plugin.heldCalls += 1
    }

    /// Removes a call if it is held, and returns the plugin for which it waited.
    mutating func remove(_ number: UInt64) -> SupervisedPlugin? {
        guard let call = held.removeValue(forKey: number) else { return nil }
        bytes -= call.bytes
        call.plugin.heldCalls -= 1
        return call.plugin
    }
}

extension HeldCalls {
    private static var always: Invariants { Invariants(of: "HeldCalls") }

    /// Each held call is in progress and waits with the supervisor, and its plugin counts it.
    func checkInvariants(
        _ calls: borrowing Calls,
        _ sessions: borrowing SessionTable
    ) throws(BrokenInvariant) {
        var size = 0
        var counts: [ObjectIdentifier: (plugin: SupervisedPlugin, count: Int)] = [:]
        for (number, call) in held {
            size += call.bytes
            counts[ObjectIdentifier(call.plugin), default: (call.plugin, 0)].count += 1
            let server = calls.find(number)?.server
            try Self.always.hold("a held call is under way", server != nil, of: "call \(number)")
            let waits = server.map { sessions[$0].clearance?.isSupervisor == true } ?? false
            try Self.always.hold("a held call waits with the supervisor", waits, of: "call \(number)")
        }
        try Self.always.agree("its bytes are those of its calls", bytes, size)
        for (plugin, count) in counts.values {
            try Self.always.agree("a plugin counts its calls", plugin.heldCalls, count, of: plugin.name)
        }
    }
}
