// What a plugin that is started on demand is started for, and whether anybody wants that now.
// Owned by its plugin.

import PlugboardMemory
import PlugboardWire

/// The demand for one plugin.
final class Demand {
    /// Seconds without demand after which a plugin is wanted no more, where it doesn't say.
    static let idleSecondsDefault: UInt32 = 30

    /// Patterns of what it publishes or emits.
    var observed: [[UInt8]] = []
    var idleNanoseconds: UInt64 = 0
    var isRunning = false
    /// Subscriptions of others to what it publishes.
    var observers = 0
    /// When the last observer or call went, or it was asked something.
    var quietSince: UInt64 = 0
    /// What the supervisor was told.
    var isWanted = false
    /// It is to be looked at again.
    var isTimed = false

    /// Whether somebody with this pattern observes what it publishes. One that names nobody in
    /// particular, such as `**`, doesn't ask for anything.
    func concerns(_ pattern: Span<UInt8>) -> Bool {
        pattern.first != UInt8(ascii: "*")
            && observed.contains { own in Pattern.overlaps(own.span, pattern) }
    }
}
