// From lines to requests: publishes wait for a moment for those that follow, whatever
// else a client sends is executed at once, after those that wait.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Takes one line of a client and executes it, at the latest with the next `finishLines`.
    /// Its bytes may change while it is decoded; they are needed until it is executed.
    @inline(__always)
    mutating func take(_ line: inout MutableSpan<UInt8>, from session: SessionReference) {
        let bytes = line.span.kept
        if RequestDecoder.isIgnored(bytes) { return }
        let place = group.place(group.count)
        guard decoder.decodePlain(bytes, into: &place.pointee.request) else {
            finishLines()
            return executeUnusual(&line, from: session)
        }
        guard place.pointee.request.operation == .publish else {
            let request = place.pointee.request
            finishLines()
            return execute(request, bytes, from: session)
        }
        let hash = observables.hash(place.pointee.request.key.bytes(of: bytes))
        group.append(bytes, hash: hash, from: session)
        if group.isFull { finishLines() }
    }

    /// Executes what waits.
    @inline(__always)
    mutating func finishLines() {
        if !group.isEmpty { publishWaiting() }
    }

    private mutating func publishWaiting() {
        guard let session = group.session else { return }
        fetchWaiting()
        let number = session.pointee.line
        for index in 0..<group.count {
            let waiting = group.place(index)
            session.pointee.line = waiting.pointee.number
            publish(waiting, session)
        }
        session.pointee.line = number
        group.removeAll()
    }

    /// Reads what the publishes will need. None of these reads needs another's result, so
    /// their waits for memory pass together. What was read is added up and kept, or the
    /// compiler would leave the reading out.
    private mutating func fetchWaiting() {
        var sum: UInt64 = 0
        for index in 0..<group.count { sum &+= observables.touch(group.place(index).pointee.hash) }
        for index in 0..<group.count {
            let observable = observables.candidate(group.place(index).pointee.hash)
            group.place(index).pointee.candidate = observable
            if let observable { sum &+= Observable.touch(observable) }
        }
        for index in 0..<group.count {
            if let observable = group.place(index).pointee.candidate {
                sum &+= observable.pointee.touchValue()
            }
        }
        fetched = sum
    }

    @inline(__always)
    private mutating func publish(
        _ waiting: UnsafeMutablePointer<WaitingPublish>,
        _ session: SessionReference
    ) {
        guard session.pointee.isOpen else { return }
        let line = Span(kept: waiting.pointee.line)
        begin(session)
        do throws(Refusal) {
            try write(waiting.pointee.request, line, hash: waiting.pointee.hash, session)
        } catch {
            refuse(error, id: waiting.pointee.request.id.bytes(of: line), session)
        }
        end(session)
    }

    /// A line that is not plain, or not a request at all.
    private mutating func executeUnusual(
        _ line: inout MutableSpan<UInt8>,
        from session: SessionReference
    ) {
        var request = Request()
        do throws(Refusal) {
            try decoder.decodeUnusual(&line, into: &request)
        } catch {
            begin(session)
            refuse(error, id: request.id.bytes(of: line.span), session)
            return end(session)
        }
        execute(request, line.span, from: session)
    }

    private mutating func execute(
        _ request: Request,
        _ line: Span<UInt8>,
        from session: SessionReference
    ) {
        begin(session)
        do throws(Refusal) {
            try perform(request, line, session)
        } catch {
            refuse(error, id: request.id.bytes(of: line), session)
        }
        end(session)
    }
}
