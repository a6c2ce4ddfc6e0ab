// Whether another broker in this process takes over once this one has ended, or why none can.

import PlugboardPosix

/// The last call of `want` counts. From any thread.
final class Succession: Sendable {
    private let wanted = Shared(false)
    private let ending = Shared(false)
    private let refusal = Shared<String?>(nil)

    init() {}

    var isWanted: Bool { wanted.get() }
    /// Whether the broker is to end, whoever comes next.
    var isEnding: Bool { ending.get() }

    func want(_ isWanted: Bool) {
        wanted.set(isWanted)
        ending.set(true)
    }

    /// The broker goes on, because the next one can't take over.
    func refuse(_ reason: String) {
        refusal.set(reason)
    }

    /// Why the next one couldn't take over last; nil if that was told.
    func takeRefusal() -> String? { refusal.exchange(nil) }
}
