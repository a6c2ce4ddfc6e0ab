// A hub without sockets: lines in, lines out, a turn when the test says so.

import PlugboardPosix
import PlugboardWire
import TestSupport

@testable import PlugboardBroker

/// A hub and its clients, on the test's own thread.
final class BareHub {
    var hub = Hub()
    private var sessions: [SessionReference] = []

    deinit {
        for session in sessions {
            hub.leave(session)
            session.deinitialize(count: 1)
            session.deallocate()
        }
    }

    /// A client that has read its greeting. One that says who it is has its place by that.
    func client(_ peer: PeerIdentity? = nil) -> SessionReference {
        let session = SessionReference.allocate(capacity: 1)
        let (number, slot) = (UInt64(sessions.count + 1), sessions.count)
        session.initialize(to: Session(client: number, slot: slot, peer: peer ?? .unknown))
        sessions.append(session)
        if peer != nil { hub.place(session, []) }
        hub.greet(session)
        endTurn()
        return session
    }

    /// Takes a line as the loop does and finishes it.
    func take(_ line: String, from session: SessionReference) {
        sendTogether([line], from: session)
    }

    /// Takes lines that came with one read.
    func sendTogether(_ lines: [String], from session: SessionReference) {
        var bytes = Array(lines.joined(separator: "\n").utf8)
        var span = bytes.mutableSpan
        var start = 0
        for line in lines {
            let end = start + line.utf8.count
            session.pointee.line += 1
            var part = span._mutatingExtracting(start..<end)
            hub.take(&part, from: session)
            start = end + 1
        }
        hub.finishLines()
    }

    /// Executes a line and returns what every client is sent for it, this one's lines first.
    @discardableResult
    func send(_ line: String, from session: SessionReference) -> [String] {
        take(line, from: session)
        let own = lines(of: session)
        return own + sessions.filter { $0 != session }.flatMap { lines(of: $0) }
    }

    /// What a client is sent.
    func lines(of session: SessionReference) -> [String] {
        session.pointee.outbox.takeOver(hub.log)
        let lines = Array(session.pointee.outbox.own.bytes).lines
        session.pointee.outbox.own.removeAll()
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Ends a turn: whatever was not looked at is gone.
    func endTurn() {
        for session in hub.touched.elements {
            session.pointee.isTouched = false
            session.pointee.outbox.own.removeAll()
            session.pointee.outbox.dropShared()
        }
        hub.touched.removeAll()
        hub.endTurn()
    }

    /// What doesn't hold, though it always should.
    func brokenInvariant() -> BrokenInvariant? { hub.brokenInvariant() }
}

extension Hub {
    /// The first thing that doesn't hold, though it always should.
    func brokenInvariant() -> BrokenInvariant? {
        do throws(BrokenInvariant) {
            try checkInvariants()
            return nil
        } catch {
            return error
        }
    }
}
