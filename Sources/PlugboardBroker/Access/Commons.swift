// What clients without a quota take up together. Without a policy, these are all clients. With a policy,
// these are the clients of the broker's own user and of root, unless it names them. The limit protects the
// machine from one's own faulty programs. Owned by `Access`. What always holds: clients that take up nothing
// aren't noted and cost nothing, and the sums agree with the shares.

import PlugboardWire

/// The shares of clients in the two common limits.
struct Commons {
    private struct Share {
        var owed = 0
        var partial = 0
    }

    private let owedMax: Int
    private let partialMax: Int
    private var shares: [SessionHandle: Share] = [:]
    private var owed = 0
    private var partial = 0

    init(
        owedMax: Int = Limits.commonOwedBytesMax,
        partialMax: Int = Limits.commonPartialBytesMax
    ) {
        (self.owedMax, self.partialMax) = (owedMax, partialMax)
    }

    /// Notes how many bytes a client has to read. Returns true if they have grown and the sum exceeds the
    /// limit.
    mutating func note(owed bytes: Int, of session: SessionHandle) -> Bool {
        if bytes == 0, shares.isEmpty { return false }
        var share = shares[session] ?? Share()
        let hasGrown = bytes > share.owed
        owed += bytes - share.owed
        share.owed = bytes
        keep(share, of: session)
        return hasGrown && owed > owedMax
    }

    /// Notes how many bytes of its next request a client has sent. Returns the same for their limit.
    mutating func note(partial bytes: Int, of session: SessionHandle) -> Bool {
        if bytes == 0, shares.isEmpty { return false }
        var share = shares[session] ?? Share()
        let hasGrown = bytes > share.partial
        partial += bytes - share.partial
        share.partial = bytes
        keep(share, of: session)
        return hasGrown && partial > partialMax
    }

    /// Forgets a client that has left.
    mutating func forget(_ session: SessionHandle) {
        guard let share = shares.removeValue(forKey: session) else { return }
        owed -= share.owed
        partial -= share.partial
    }

    private mutating func keep(_ share: Share, of session: SessionHandle) {
        shares[session] = share.owed > 0 || share.partial > 0 ? share : nil
    }
}

extension Commons {
    private static var always: Invariants { Invariants(of: "Commons") }

    /// All noted clients exist, and the sums are right.
    func checkInvariants(_ living: borrowing Living) throws(BrokenInvariant) {
        for session in shares.keys {
            try Self.always.hold("who is noted is there", living.sessions.contains(session))
        }
        try Self.always.agree("it adds up what is owed", owed, shares.values.reduce(0) { $0 + $1.owed })
        let sum = shares.values.reduce(0) { $0 + $1.partial }
        try Self.always.agree("it adds up the requests in part", partial, sum)
    }
}
