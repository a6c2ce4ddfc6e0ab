// Questions about a client's rights and its user's quota. They change nothing.

import PlugboardMemory
import PlugboardWire

extension Session {
    /// Whether this client may do something with a key.
    @inline(__always)
    func authorize(_ action: PolicyAction, _ key: Span<UInt8>) -> Bool {
        clearance == nil || isPermitted(action, key)
    }

    /// Whether this client may do something with every key that a pattern matches.
    func authorizeAll(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        clearance?.permitAll(action, pattern) ?? true
    }

    /// Whether this client may do something with some key that a pattern matches.
    func authorizeSome(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        clearance?.permitSome(action, pattern) ?? true
    }

    @inline(never)
    private func isPermitted(_ action: PolicyAction, _ key: Span<UInt8>) -> Bool {
        clearance?.permit(action, key) ?? true
    }

    /// Whether its waiting bytes have to be counted whenever it is served.
    var isCounted: Bool { isGuarded || isBehind || hasShare }

    /// Whether something that was queued for this client has not been sent yet.
    var hasUnread: Bool {
        if let catchup, !catchup.isEmpty { return true }
        return outbox.count > 0 || isBehind || isHeld
    }
}

extension Session {
    /// About how many bytes a call takes up while it waits for its answer.
    private static let callBytes = 512

    /// The bytes that wait for this client: its outbox, its catch-up, owed keys, and its unanswered calls.
    var owedBytes: Int { outbox.keptCount + waitingBytes }

    /// The same without the bytes that it shares with other clients.
    var ownOwedBytes: Int { mutating get { outbox.own.count + outbox.unsharedBytes() + waitingBytes } }

    private var waitingBytes: Int {
        guard isOpen else { return 0 }
        var calls = (duties?.made.count ?? 0) * Self.callBytes
        if let clearance {
            for backlog in clearance.withheld.values { calls += backlog.keys.count * OwedKey.countedBytes }
        }
        guard let catchup else { return calls }
        return calls + catchup.queuedBytes + catchup.deferred.count
            + catchup.owedCount * OwedKey.countedBytes
    }
}
