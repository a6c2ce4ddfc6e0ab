// What a server costs while nothing is sent: the memory of idle connections, and the
// time until it first answers.

import PlugboardPosix

/// Measurements without load.
struct Resting {
    /// Connections made before the first look, so that code and tables are in memory.
    private static let warmingConnections = 100
    let programs: Programs

    /// Bytes of the server's memory for each connection that observes a key of its own.
    func idle(_ workload: Workload, connections: Int, _ dialect: any Dialect) throws -> [Quantity: Double]? {
        guard let server = try Server(dialect, for: workload, programs: programs) else { return nil }
        var links = [try server.connectWhenReady()]
        try dialect.open(links[0], workload: workload, as: .resting)
        try dialect.prepare(links[0], workload: workload)
        let observe = { number in
            links.append(try server.connectResting(number, workload, dialect))
        }
        for number in 0..<Self.warmingConnections { try observe(number) }
        let before = try ProcessUsage.memoryBytes(of: server.pid)
        for number in 0..<connections { try observe(Self.warmingConnections + number) }
        let after = try ProcessUsage.memoryBytes(of: server.pid)
        return [.bytesPerConnection: (Double(after) - Double(before)) / Double(connections)]
    }

    /// Milliseconds from starting the process to its first reply.
    func startUp(_ workload: Workload, _ dialect: any Dialect) throws -> [Quantity: Double]? {
        let start = MonotonicClock.nanoseconds()
        guard let server = try Server(dialect, for: workload, programs: programs, directly: true) else {
            return nil
        }
        try dialect.firstReply(server.connectWhenReady())
        return [.startMilliseconds: Double(MonotonicClock.nanoseconds() - start) / 1e6]
    }
}
