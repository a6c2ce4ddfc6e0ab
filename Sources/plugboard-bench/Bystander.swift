// A connection besides those that a row measures. It gets events, and either the generator reads and
// ignores them, or nobody reads. At the end it shows what an observer that doesn't read costs the broker,
// and whether it is up to date when it reads again.

import PlugboardPosix

/// The bystander of a row. Only one thread uses it.
final class Bystander {
    let reads: Bool
    private let link: LoadLink
    private let server: MeasuredServer
    private let memoryBefore: UInt64

    /// Connects to a server that is warm.
    init(
        _ bystander: Workload.Bystander,
        _ server: MeasuredServer,
        _ dialect: any Dialect,
        _ workload: Workload
    )
        throws
    {
        reads = bystander.reads
        self.server = server
        memoryBefore = try ProcessUsage.memoryBytes(of: server.pid)
        link = try server.connect(workload, dialect, as: .observer)
        let reply = try link.ask(bystander.request + "\n", lines: 1)
        guard !reply.hasPrefix("{\"error\"") else { throw BenchError.unexpected(reply) }
    }

    /// Lets a generator read for it, if it reads.
    func add(to generator: LoadGenerator) throws {
        if reads { try generator.drain(link) }
    }

    /// Reads everything that it is owed. Throws if the last event isn't what was published last.
    func wake(keys: Int, lastMark: String) throws -> [Metric: Double] {
        let memory = try ProcessUsage.memoryBytes(of: server.pid)
        try link.send("{\"op\":\"sync\"}\n")
        let bytes = try link.receive { bytes in
            guard bytes.last == 0x0A else { return false }
            let start = bytes.dropLast().lastIndex(of: 0x0A).map { $0 + 1 } ?? bytes.startIndex
            return bytes[start...].starts(with: "{\"ok\":\"sync\"".utf8)
        }
        let folded = bytes.split(separator: 0x0A).filter { Self.contains($0, "\"skipped\":") }
        guard let last = folded.last, Self.contains(last, lastMark) else {
            throw BenchError.unexpected("who stopped reading isn't up to date when it reads again")
        }
        return [
            .bytesOfStopped: max(0, Double(memory) - Double(memoryBefore)),
            .linesPerKeyAfterWaking: Double(folded.count) / Double(keys),
        ]
    }

    private static func contains(_ line: ArraySlice<UInt8>, _ text: String) -> Bool {
        let text = Array(text.utf8)
        return line.indices.contains { line[$0...].starts(with: text) }
    }
}
