// What depends on the program's connection: values that end with it, and the disconnect action (the
// will).

import Observables
import PlugboardWire

/// How long a published value stays.
public enum Lifetime: Sendable, Equatable {
    /// As long as the connection that wrote it is open. At its end observers get a `delete` with
    /// the reason `disconnected`.
    case connected
}

extension Bus {
    /// Publishes a value that stays as long as this program is connected and the handle is neither
    /// disposed of nor released. So readers of the value know that the program is there.
    ///
    /// ```swift
    /// let presence = try await bus.announce("tills.3", ["since": "09:00"])
    /// ```
    /// The broker deletes the value when the connection ends, for whatever reason. On the next
    /// connection the bus publishes it again, even over a value that another client wrote there. To
    /// change the value, announce the key again, and only then dispose of the earlier handle: a
    /// handle deletes what it published, and nothing else.
    /// - Throws: `BusError.refused`, for example `badKey`, or another failure of publishing.
    public func announce(
        _ key: String, _ value: some Encodable, timeout: Duration? = nil
    ) async throws -> Disposable {
        let write = try Write.publish(key, value, while: .connected)
        let link = link
        let number = try await link.announce(write, timeout: timeout)
        // The handle keeps the bus alive for as long as it announces.
        return Disposable { self.link.withdraw(number) }
    }

    /// Gives the broker a write that it makes if this program's connection ends without
    /// ``finish(within:)``, for example in a crash. Observers get the write with the reason `will`.
    ///
    /// ```swift
    /// try await bus.setWill(.publish("till.state", "lost"))
    /// ```
    /// A bus has one will. A later one replaces it, and nil removes it. The bus sets the will again on
    /// each new connection. So if a connection breaks and is made again, the broker has made the write
    /// once.
    /// - Throws: `BusError.refused` if the write can't be a will (a forbidden key, a value with a
    ///   `Lifetime`), or another failure. Then the earlier will stays.
    public func setWill(_ write: Write?, timeout: Duration? = nil) async throws {
        let link = link
        _ = try await link.request(.will(write), timeout: timeout) { result in
            guard case .success = result else { return }
            link.state.withLock { state in
                state.will = write
                state.will?.cause = nil
            }
        }
    }
}

extension ObjectWriter {
    fileprivate static func will(_ write: Write?) -> ObjectWriter {
        ObjectWriter(op: "will").adding("write", json: write.map { ObjectWriter($0).bytes })
    }
}

/// A value that this client announces.
struct Announcement: Sendable {
    var write: Write
    /// The revision of its newest publication; nil while a publication is under way.
    var revision: Int?
}

extension Link {
    /// Publishes a value, now and on each later connection.
    fileprivate func announce(_ write: Write, timeout: Duration?) async throws -> Int {
        let number = state.withLock { $0.takeID() }
        _ = try await request(ObjectWriter(write), timeout: timeout) { [weak self] result in
            guard case .success(let reply) = result else { return }
            var announcement = Announcement(write: write, revision: reply.revision)
            // Later publications don't have this cause.
            announcement.write.cause = nil
            self?.state.withLock { $0.announcements[number] = announcement }
        }
        return number
    }

    /// Deletes an announced value, unless another client has written the key since.
    fileprivate func withdraw(_ number: Int) {
        change { state in
            guard let announcement = state.announcements.removeValue(forKey: number) else { return }
            if let revision = announcement.revision { take(announcement.write.key, at: revision, &state) }
        }
    }

    private func take(_ key: String, at revision: Int, _ state: inout LinkState) {
        guard case .joined = state.phase else { return }
        let write = Write.delete(key, ifRevision: revision, cause: nil)
        // If the broker refuses, there is nothing left to do.
        appendInternal(ObjectWriter(write), &state)
    }

    /// Publishes this client's announced values on a new connection.
    func announceAgain(_ state: inout LinkState) {
        for (number, announcement) in state.announcements.sorted(by: { $0.key < $1.key }) {
            state.announcements[number]?.revision = nil
            setUp(ObjectWriter(announcement.write), announcement.write.key, &state) { [weak self] reply in
                self?.announced(number, announcement.write.key, reply)
            }
        }
    }

    private func announced(_ number: Int, _ key: String, _ reply: Reply?) {
        change { state in
            guard let reply else { return state.announcements[number] = nil }
            guard state.announcements[number] != nil else { return take(key, at: reply.revision, &state) }
            state.announcements[number]?.revision = reply.revision
        }
    }

    /// Sets the will on a new connection.
    func leaveWillAgain(_ state: inout LinkState) {
        guard let will = state.will else { return }
        setUp(.will(will), will.key, &state) { [weak self] reply in
            if reply == nil { self?.state.withLock { $0.will = nil } }
        }
    }

    /// Adds a request to those with which a new connection begins. If the broker refuses it, reports a
    /// fault and calls `complete` with nil.
    func setUp(
        _ request: ObjectWriter,
        _ key: String,
        _ state: inout LinkState,
        complete: @escaping @Sendable (Reply?) -> Void
    ) {
        state.setupLeft += 1
        appendInternal(request, &state) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let reply): complete(reply)
            case .failure(let error as BusError) where error.code != nil:
                faults.tell(Fault(error: error, key: key))
                complete(nil)
            case .failure: return  // The connection broke. The next one asks again.
            }
            setupStep()
        }
    }
}
