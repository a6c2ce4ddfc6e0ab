// Whether another broker in this process takes over once this one has ended.

import PlugboardPosix

/// The last call of `want` counts. From any thread.
final class Succession: Sendable {
    private let wanted = Shared(false)

    init() {}

    var isWanted: Bool { wanted.get() }

    func want(_ isWanted: Bool) {
        wanted.set(isWanted)
    }
}
