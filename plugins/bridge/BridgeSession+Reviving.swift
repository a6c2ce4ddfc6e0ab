// Writes values of living hosts again if the connection that wrote them has closed, so that `live` is true
// again. A value that somebody writes meanwhile is left alone, because each write has `if`.

import PlugboardClient

extension BridgeSession {
    /// When a session begins: revives those of these values that living hosts wrote over earlier connections.
    func revive(_ values: [BusValue]) async throws {
        for (by, part) in Dictionary(grouping: values, by: \.by) {
            guard let by, let host = await hosts.alive(named: by) else { continue }
            try await revive(part, of: host)
        }
    }

    /// When a host has come back: revives all its values.
    func revive(_ host: String) async throws {
        try await revive(mirror.values(of: host) { HostConnections.name(of: $0, settings.name) }, of: host)
    }

    private func revive(_ values: [BusValue], of host: String) async throws {
        var rest = values[...]
        while !rest.isEmpty {
            let part = firstPart(of: rest)
            rest = rest.dropFirst(part.count)
            for _ in 0..<BridgeLimits.attemptsMax {
                if try await exclusively({ try await revivePart(part, of: host) }) { break }
                // The events of the write in between are on their way.
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// The first values, as many as fit into a batch.
    private func firstPart(of values: ArraySlice<BusValue>) -> ArraySlice<BusValue> {
        var bytes = 0
        let part = values.prefix(BridgeLimits.batchWritesMax).prefix {
            bytes += $0.key.utf8.count + $0.value.bytes.count + 512
            return bytes <= BridgeLimits.batchBytesMax
        }
        return part.isEmpty ? values.prefix(1) : part
    }

    /// Returns false if the bus refused the batch because a key was written meanwhile.
    private func revivePart(_ values: ArraySlice<BusValue>, of host: String) async throws -> Bool {
        let current = values.filter { mirror.isReading && mirror.isCurrent($0) }
        guard !current.isEmpty else { return true }
        var writes: [Write] = []
        for value in current {
            var write = try Write.publish(value.key, value.value, ifRevision: value.revision, cause: nil)
            write.origin = value.origin
            writes.append(write)
        }
        do {
            try await write(writes, of: host) { mirror.revived(current, at: $0) }
            return true
        } catch let error as BusError where error.code == .conflict {
            return false
        }
    }
}
