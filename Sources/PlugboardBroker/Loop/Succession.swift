// Whether another broker in this process takes over once this one has ended, or why none can.

import PlugboardPosix

/// The last call of `want` counts. From any thread.
final class Succession: Sendable {
    private let wanted = Shared(false)
    private let isEnding = Shared(false)
    private let refusal = Shared<String?>(nil)

    init() {}

    var isWanted: Bool { wanted.get() }

    func want(_ isWanted: Bool) {
        wanted.set(isWanted)
        isEnding.set(true)
    }

    /// The broker goes on, because the next one can't take over.
    func refuse(_ reason: String) {
        refusal.set(reason)
    }

    /// Why the broker was woken, if it wasn't to end. The end comes first.
    func takeRefusal() -> String? {
        let reason = isEnding.get() ? nil : refusal.get()
        isEnding.set(false)
        refusal.set(nil)
        return reason
    }
}
