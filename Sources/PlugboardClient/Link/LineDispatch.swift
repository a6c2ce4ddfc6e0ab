// Decides what to do with each line from the broker: the greeting, an answer, an event of a subscription,
// or `bye`. Only the bus's thread uses it.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

final class LineDispatch {
    private let link: Link
    private let end: SendingEnd
    private(set) var isGreeted = false
    /// Why the broker ended the connection, if it said so.
    private(set) var reason: BusError?
    /// For each subscription, the newest revision that a callback has handled.
    private var handled: [Int: Int] = [:]

    init(_ link: Link, _ end: SendingEnd) {
        (self.link, self.end) = (link, end)
    }

    /// Handles one line. Returns why the connection can't continue; nil if it can.
    func read(_ bytes: Span<UInt8>) -> BusError? {
        guard isGreeted else { return greet(bytes) }
        guard let line = ParsedLine(bytes) else {
            return .disconnected(reason: "the broker sent a line that isn't JSON")
        }
        switch line.kind {
        case .event: event(line, bytes)
        case .ok: ok(line, bytes)
        case .error: refusal(line, bytes)
        case .unknown: break
        }
        return nil
    }

    /// Acknowledges what callbacks have handled. Call it when all events that came together were passed
    /// on.
    func acknowledge() {
        guard !handled.isEmpty else { return }
        for (sub, revision) in handled { link.acknowledge(sub, revision) }
        handled.removeAll(keepingCapacity: true)
    }

    private func greet(_ bytes: Span<UInt8>) -> BusError? {
        do throws(GreetingFault) {
            link.joined(try Greeting(bytes), over: end)
            isGreeted = true
            return nil
        } catch {
            if error.isTransient { return .disconnected(reason: error.reason) }
            return .notABroker(path: link.socketPath, reason: error.reason)
        }
    }

    private func event(_ line: ParsedLine, _ bytes: Span<UInt8>) {
        if let sub = bytes.integer(line.sub) {
            guard let registration = link.registration(sub) else { return }
            if let trace = registration.trace { return trace.take(line, bytes) }
            guard let event = Event(line, bytes) else { return }
            registration.receive(event)
            if registration.acknowledgesCallbacks, event.needsAcknowledgement {
                handled[sub] = event.revision
            }
        } else if line.head.bytes(of: bytes).spells("call") {
            link.called(line, bytes)
        } else if line.head.bytes(of: bytes).spells("serving") {
            link.tookOver(bytes.text(line.key) ?? "")
        } else if line.head.bytes(of: bytes).spells("bye") {
            let text = bytes.text(line.message) ?? bytes.text(line.reason) ?? ""
            reason = .disconnected(reason: "the broker said bye: \(text)")
        }
    }

    private func ok(_ line: ParsedLine, _ bytes: Span<UInt8>) {
        guard let id = bytes.integer(line.id) else { return }
        link.answer(id, .success(Reply(copying: bytes, line)))
    }

    private func refusal(_ line: ParsedLine, _ bytes: Span<UInt8>) {
        let error = BusError(refusal: line, bytes)
        if let id = bytes.integer(line.id) {
            link.answer(id, .failure(error))
        } else {
            link.faults.tell(Fault(error: error, key: nil))
        }
    }
}
