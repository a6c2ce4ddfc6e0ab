// The terms of a child: its program, and for a plugin what its plugin.json says. They may be read
// again while the child runs.

import PlugboardPosix

/// The terms of one child.
struct ProcessSpec {
    var start: ChildStart
    /// Whether it is started again after it has ended.
    var rule = RestartRule.onFailure
    /// The plugin's rights on the bus, as JSON; nil if it may do what other clients may.
    var permission: [UInt8]?
    /// For a child that starts on demand: after how many seconds without demand it is stopped. Otherwise nil.
    var idleSeconds: UInt64?
    /// Whether it is started only when somebody asks for it.
    var isOff = false

    /// Whether `other` has another program or other arguments.
    func startsOtherwise(than other: ProcessSpec) -> Bool {
        start.program != other.start.program || start.arguments != other.start.arguments
            || start.folder != other.start.folder
    }

    /// Whether `other` differs in anything.
    func differs(from other: ProcessSpec) -> Bool {
        startsOtherwise(than: other) || rule != other.rule || permission != other.permission
            || idleSeconds != other.idleSeconds || isOff != other.isOff
    }
}
