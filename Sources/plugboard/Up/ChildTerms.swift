// The terms of a child: its program, and for a plugin what its plugin.json says. They may be read
// again while the child runs.

import PlugboardPosix

/// The terms of one child.
struct ChildTerms {
    var start: ChildStart
    /// Whether it is started again when it ended.
    var rule = RestartRule.onFailure
    /// What it may do on the bus, as JSON; nil: whatever other clients may.
    var permission: [UInt8]?
    /// It starts on demand, and is stopped after this many seconds without demand.
    var idleSeconds: UInt64?

    /// Whether `other` has another program or other arguments.
    func startsOtherwise(than other: ChildTerms) -> Bool {
        start.program != other.start.program || start.arguments != other.start.arguments
            || start.folder != other.start.folder
    }

    /// Whether `other` differs in anything.
    func differs(from other: ChildTerms) -> Bool {
        startsOtherwise(than: other) || rule != other.rule || permission != other.permission
            || idleSeconds != other.idleSeconds
    }
}
