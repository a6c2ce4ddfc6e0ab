// The demand for a plugin that is started on demand: the keys for which it is needed, and whether a client
// needs it now. Owned by its `SupervisedPlugin`.

import PlugboardMemory
import PlugboardWire

/// The demand for one plugin.
final class Demand {
    /// After so many seconds without demand, a plugin is no longer wanted, unless its declaration has another
    /// number.
    static let idleSecondsDefault: UInt32 = 30

    /// Patterns of the keys that it publishes or emits.
    var observed: [[UInt8]] = []
    var idleNanoseconds: UInt64 = 0
    var isRunning = false
    /// How many subscriptions of other clients ask for what it publishes.
    var observers = 0
    /// When the last observer or call ended, or a client last called it.
    var quietSince: UInt64 = 0
    /// What the broker last told the supervisor.
    var isWanted = false
    /// Whether a later check is planned.
    var isTimed = false

    /// Whether a subscription with this pattern asks for what the plugin publishes. A pattern that begins
    /// with `*` asks for no particular plugin.
    func concerns(_ pattern: Span<UInt8>) -> Bool {
        pattern.first != UInt8(ascii: "*")
            && observed.contains { own in Pattern.overlaps(own.span, pattern) }
    }
}
