// What a child is started as and what is settled about it: for a plugin, what its plugin.json says.
// It may be read again while the child runs.

import PlugboardPosix

/// The terms of one child.
struct ChildTerms {
    var start: ChildStart
    /// Whether it is started again when it ended.
    var rule = RestartRule.onFailure
    /// What it may do on the bus, as JSON; nil: whatever others may.
    var permission: [UInt8]?
    /// It is started when it is wanted; after so many seconds in which it isn't, it is stopped.
    var idleSeconds: UInt64?

    /// Its program would be another, or be called otherwise.
    func startsOtherwise(than other: ChildTerms) -> Bool {
        start.program != other.start.program || start.arguments != other.start.arguments
            || start.folder != other.start.folder
    }

    /// Something is different by `other`.
    func differs(from other: ChildTerms) -> Bool {
        startsOtherwise(than: other) || rule != other.rule || permission != other.permission
            || idleSeconds != other.idleSeconds
    }
}
