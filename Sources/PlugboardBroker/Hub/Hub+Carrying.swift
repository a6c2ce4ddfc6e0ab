// Hands the state of a broker without a journal to the next one in this process: its values and its
// remembered writes, in files without names. So a client that comes back learns what it missed, and gets
// nothing twice.

import PlugboardMemory
import PlugboardJournal
import PlugboardPosix
import PlugboardWire

extension Hub {
    /// Writes the state to files. Nothing may change it afterwards. Throws `SystemError`.
    func carry(_ time: TimeSource) throws -> CarriedState {
        let values = CarriedValues(time)
        // Newer values go with the remembered writes.
        let since = keyspace.history.completeSince
        var count = 0
        values.forEach(in: keyspace, upTo: since, deadlines) { _ in count += 1 }
        return try CarriedState(
            epoch: keyspace.epoch,
            since: since,
            revision: revision,
            keys: count,
            when: values.wall,
            values: { add in try values.forEach(in: keyspace, upTo: since, deadlines, add) },
            writes: { add in try values.forEachRemembered(in: keyspace, deadlines, add) }
        )
    }

    /// Continues with the state of the broker before. Throws `JournalError` or `SystemError`.
    mutating func goOn(with state: CarriedState) throws {
        keyspace.beginRestoring()
        var authors = RestoredAuthors()
        let recovered = try state.read { record, line in
            authors.restore(record, line, &keyspace, &access, &durability, &deadlines)
        }
        authors.bindToTime(lastRecord: recovered.when, &keyspace, &deadlines)
        authors.release(&keyspace)
        let epoch = recovered.epoch ?? keyspace.epoch
        keyspace.resume(epoch, at: recovered.revision, isNew: recovered.epoch == nil)
        endRestoring(snapshotRevision: recovered.snapshotRevision)
    }
}
