// Whom the latest calls went to, so that a late answer is told from one that nobody asked for,
// also when the call is over and forgotten. Owned by the table of calls.

/// The clients that were asked the newest calls, by the calls' numbers.
struct AskedClients {
    /// How many calls back it is known.
    static let callsMax = 65_536

    private let capacity: Int
    /// A client's number for each call; grows up to `capacity`, then the oldest are written over.
    private var clients: [UInt64] = []
    private var last: UInt64 = 0

    init(capacity: Int = Self.callsMax) {
        self.capacity = capacity
    }

    /// Notes whom a call goes to: one that is known already, or the next one. Numbers begin at 1.
    mutating func note(_ client: UInt64, for call: UInt64) {
        let place = place(of: call)
        if place == clients.count { clients.append(client) } else { clients[place] = client }
        last = max(last, call)
    }

    /// Whether it is known that a client was asked a call.
    func wasAsked(_ client: UInt64, _ call: UInt64) -> Bool {
        guard call > 0, call <= last, last - call < UInt64(capacity) else { return false }
        return clients[place(of: call)] == client
    }

    private func place(of call: UInt64) -> Int {
        Int((call - 1) % UInt64(capacity))
    }
}
