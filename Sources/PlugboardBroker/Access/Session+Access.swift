// What the room of rights asks of a client and of a value: the rest of either it doesn't know.

import PlugboardMemory
import PlugboardWire

extension Session {
    /// Whether this client may do something with a key.
    @inline(__always)
    func authorize(_ action: PolicyAction, _ key: Span<UInt8>) -> Bool {
        clearance == nil || isPermitted(action, key)
    }

    /// Whether it may do so with every key that a pattern matching.found.
    func authorizeAll(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        clearance?.permitAll(action, pattern) ?? true
    }

    /// Whether it may do so with any key that a pattern matching.found.
    func authorizeSome(_ action: PolicyAction, _ pattern: Span<UInt8>) -> Bool {
        clearance?.permitSome(action, pattern) ?? true
    }

    @inline(never)
    private func isPermitted(_ action: PolicyAction, _ key: Span<UInt8>) -> Bool {
        clearance?.permit(action, key) ?? true
    }

    /// Something was queued for it that it has not been sent.
    var hasUnread: Bool {
        if let catchup, !catchup.isEmpty { return true }
        return outbox.count > 0 || isBehind || isHeld
    }
}

extension Session {
    /// What a call takes up that waits for its answer, about.
    private static let callBytes = 512

    /// What waits for it to be read: in its outbox, beside it, as keys by name, and as answers.
    var owedBytes: Int {
        guard isOpen else { return outbox.own.count }
        let calls = (duties?.made.count ?? 0) * Self.callBytes
        let waiting = catchup.map {
            $0.queuedBytes + $0.deferred.count
                + $0.owedCount * OwedKey.countedBytes
        }
        return outbox.own.count + calls + (waiting ?? 0)
    }
}
