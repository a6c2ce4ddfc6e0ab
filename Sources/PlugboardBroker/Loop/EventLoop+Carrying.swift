// Hands the state of a broker without a journal to the next one in this process: its values and its
// remembered writes, in files without names. So a client that comes back learns what it missed, and gets
// nothing twice.

import PlugboardMemory
import PlugboardJournal
import PlugboardPosix
import PlugboardWire

extension EventLoop {
    /// Writes the state to files. Nothing may change it afterwards. Throws `SystemError`.
    func carry() throws -> CarriedState {
        let values = CarriedValues(time)
        // Newer values go with the remembered writes.
        let since = hub.keyspace.history.completeSince
        var count = 0
        values.forEach(in: hub.keyspace, upTo: since, hub.deadlines) { _ in count += 1 }
        return try CarriedState(
            epoch: hub.keyspace.epoch,
            since: since,
            revision: hub.revision,
            keys: count,
            when: values.wall,
            values: { add in try values.forEach(in: hub.keyspace, upTo: since, hub.deadlines, add) },
            writes: { add in try values.forEachRemembered(in: hub.keyspace, hub.deadlines, add) }
        )
    }

    /// Continues with the state of the broker before. Throws `JournalError` or `SystemError`.
    mutating func goOn(with state: CarriedState) throws {
        hub.keyspace.beginRestoring()
        var authors = RestoredAuthors()
        let recovered = try state.read { record, line in
            authors.restore(record, line, &hub.keyspace, &hub.access, &hub.durability, &hub.deadlines)
        }
        authors.release(&hub.keyspace)
        let epoch = recovered.epoch ?? hub.keyspace.epoch
        hub.keyspace.resume(epoch, at: recovered.revision, isNew: recovered.epoch == nil)
        hub.endRestoring(snapshotRevision: recovered.snapshotRevision)
    }
}
