// What a plugin that is started on demand is started for, and whether anybody wants that now.
// Owned by its plugin.

import PlugboardMemory
import PlugboardWire

/// The demand for one plugin.
final class Demand {
    /// Seconds without demand after which a plugin is wanted no more, where it doesn't say.
    static let idleSecondsDefault: UInt32 = 30
    /// Bytes of calls that wait for plugins to serve.
    static let waitingBytesMax = 16_777_216

    /// Patterns of what it publishes or emits.
    var observed: [[UInt8]] = []
    /// Patterns of what it serves.
    var served: [[UInt8]] = []
    var idleNanoseconds: UInt64 = 0
    var isRunning = false
    /// It is neither broken nor stopped by hand.
    var canStart = true
    /// Subscriptions of others to what it publishes.
    var observers = 0
    /// Calls that wait for it to serve.
    var calls = 0
    /// When the last of both went, or it was asked something.
    var quietSince: UInt64 = 0
    /// What the supervisor was told.
    var isWanted = false
    /// It is to be looked at again.
    var isTimed = false

    var isNeeded: Bool { observers > 0 || calls > 0 }

    func serves(_ key: Span<UInt8>) -> Bool {
        canStart && served.contains { pattern in Pattern.matches(pattern.span, key) }
    }

    /// Whether somebody with this pattern observes what it publishes. One that names nobody in
    /// particular, such as `**`, doesn't ask for anything.
    func concerns(_ pattern: Span<UInt8>) -> Bool {
        pattern.first != UInt8(ascii: "*")
            && observed.contains { own in Pattern.overlaps(own.span, pattern) }
    }
}
