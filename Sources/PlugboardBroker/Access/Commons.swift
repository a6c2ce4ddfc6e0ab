// What clients without a quota take up together. Without a policy, these are all clients. With a policy,
// these are the clients of the broker's own user and of root, unless it names them. The limit protects the
// machine from one's own faulty programs. Owned by `Access`. What always holds: clients that take up nothing
// aren't noted and cost nothing, and the sums agree with the shares.

import PlugboardWire

/// Bytes that wait in the broker: for clients to read them, and for the rest of their requests.
struct WaitingBytes {
    enum Kind { case owed, partial }

    var owed = 0
    var partial = 0

    subscript(kind: Kind) -> Int {
        get { kind == .owed ? owed : partial }
        set { if kind == .owed { owed = newValue } else { partial = newValue } }
    }
}

/// The shares of clients in the two common limits.
struct Commons {
    private let most: WaitingBytes
    private var shares: [SessionHandle: WaitingBytes] = [:]
    private var sum = WaitingBytes()

    init(
        owedMax: Int = Limits.commonOwedBytesMax,
        partialMax: Int = Limits.commonPartialBytesMax
    ) {
        most = WaitingBytes(owed: owedMax, partial: partialMax)
    }

    /// Notes how many bytes of a client wait. Returns true if they have grown and the sum exceeds the limit.
    mutating func note(_ kind: WaitingBytes.Kind, _ bytes: Int, of session: SessionHandle) -> Bool {
        if bytes == 0, shares.isEmpty { return false }
        var share = shares[session] ?? WaitingBytes()
        let growth = bytes - share[kind]
        sum[kind] += growth
        share[kind] = bytes
        shares[session] = share.owed > 0 || share.partial > 0 ? share : nil
        return growth > 0 && sum[kind] > most[kind]
    }

    /// Forgets a client that has left.
    mutating func forget(_ session: SessionHandle) {
        guard let share = shares.removeValue(forKey: session) else { return }
        sum.owed -= share.owed
        sum.partial -= share.partial
    }
}

extension Commons {
    private static var always: Invariants { Invariants(of: "Commons") }

    /// All noted clients exist, and the sums are right.
    func checkInvariants(_ living: borrowing Living) throws(BrokenInvariant) {
        for session in shares.keys {
            try Self.always.hold("who is noted is there", living.sessions.contains(session))
        }
        let owed = shares.values.reduce(0) { $0 + $1.owed }
        try Self.always.agree("it adds up what is owed", sum.owed, owed)
        let partial = shares.values.reduce(0) { $0 + $1.partial }
        try Self.always.agree("it adds up the requests in part", sum.partial, partial)
    }
}
