// Whether another broker takes the place of this one in its process, once it has ended.

import PlugboardPosix

/// The last word about it counts. From any thread.
final class Succession: Sendable {
    private let wanted = Shared(false)

    init() {}

    var isWanted: Bool { wanted.get() }

    func want(_ isWanted: Bool) {
        wanted.set(isWanted)
    }
}
