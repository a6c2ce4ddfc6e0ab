// Which clients the latest calls were sent to. With this, a late answer is told from an answer that nobody
// asked for, even if the call is over. Owned by `Calls`.

/// The clients of the newest calls, by the calls' numbers.
struct AskedClients {
    /// How many calls back clients are remembered.
    static let callsMax = 65_536

    private let capacity: Int
    /// A client's number for each call. Grows up to `capacity`; then the oldest are overwritten.
    private var clients: [UInt64] = []
    private var last: UInt64 = 0

    init(capacity: Int = Self.callsMax) {
        self.capacity = capacity
    }

    /// Notes the client of a call: of the next call, or of an earlier one. Numbers begin at 1.
    mutating func note(_ client: UInt64, for call: UInt64) {
        let place = place(of: call)
        if place == clients.count { clients.append(client) } else { clients[place] = client }
        last = max(last, call)
    }

    /// Whether this call was sent to this client, as far as that is remembered.
    func wasAsked(_ client: UInt64, _ call: UInt64) -> Bool {
        guard call > 0, call <= last, last - call < UInt64(capacity) else { return false }
        return clients[place(of: call)] == client
    }

    private func place(of call: UInt64) -> Int {
        Int((call - 1) % UInt64(capacity))
    }
}
