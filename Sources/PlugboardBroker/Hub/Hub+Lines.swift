// From lines to requests. Publishes wait for a moment for those that follow. Anything else is executed at
// once, after the waiting publishes. A request that takes longer than others can wait goes on in later turns.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Takes one line of a client, and executes it at the latest with the next `finishLines`. Its bytes may
    /// change while it is decoded, but have to stay in their place until it is executed. Returns whether it
    /// only waits.
    @inline(__always)
    mutating func take(
        _ place: Range<Int>, of bytes: inout MutableSpan<UInt8>, number: UInt64, from session: SessionHandle
    ) -> Bool {
        let reading = requests.group.next.read(place, of: bytes.span, number, using: &requests.decoder)
        switch reading {
        case .nothing: break
        case .publish:
            requests.group.countNext(from: session)
            if keyspace.isLarge {
                requests.group.fetchAhead(keyspace, matching.reach, bytes.span)
            }
            if !requests.group.isFull { return true }
            finishLines(in: bytes.span)
        case .other, .unusual:
            let request = requests.group.next.request
            guard mayExecute(place, number, after: bytes.span, session) else { return false }
            sessions[session].line = number
            var line = bytes._mutatingExtracting(place)
            execute(reading == .other ? request : nil, &line, from: session)
        }
        return false
    }

    /// Lets lines wait that repeat the last publish with other digits. Returns where the next line begins.
    @inline(__always)
    mutating func takeRepeats(from start: Int, of bytes: Span<UInt8>, _ lines: inout UInt64) -> Int {
        var start = start
        while let end = requests.group.repeatLast(at: start, of: bytes) {
            if keyspace.isLarge {
                requests.group.fetchAhead(keyspace, matching.reach, bytes)
            }
            lines &+= 1
            start = end &+ 1
        }
        return start
    }

    /// Executes the waiting publishes. Returns whether the line after them may be executed in this turn. If one of
    /// their replies has to wait, the line waits for that.
    @inline(__always)
    private mutating func mayExecute(
        _ place: Range<Int>, _ number: UInt64, after bytes: Span<UInt8>, _ session: SessionHandle
    ) -> Bool {
        if requests.group.isEmpty { return true }
        publishWaiting(in: bytes)
        if requests.group.leftOver == nil, sessions[session].isHeld {
            requests.group.leftOver = LeftOver(start: place.lowerBound, number: number)
        }
        return requests.group.leftOver == nil
    }

    /// Executes the waiting publishes. Returns false if the turn has done enough before all of them were
    /// executed. Then `requests.group.leftOver` says where the rest begins, and no line after that may be
    /// executed.
    @discardableResult
    @inline(__always)
    mutating func finishLines(in bytes: Span<UInt8>) -> Bool {
        if !requests.group.isEmpty { publishWaiting(in: bytes) }
        return requests.group.leftOver == nil
    }

    /// All work since the start, in observers told. A visit in the pattern tree counts as two.
    @inline(__always) var effort: UInt64 {
        insight.effort &+ 2 &* matching.visits &+ delivery.judge.steps
    }

    /// Whether others should have their turn before more is done for anybody.
    @inline(__always) var hasDoneEnough: Bool { effort > requests.effortEnd }

    private mutating func publishWaiting(in bytes: Span<UInt8>) {
        guard let session = requests.group.session else { return }
        if keyspace.isLarge { requests.group.fetchLast(keyspace, matching.reach) }
        let count = requests.group.count
        var publishes = List<WaitingPublish>()
        requests.group.exchange(&publishes)
        delivery.begin(session)
        publish(publishes.span.extracting(first: count), in: bytes, session)
        requests.group.exchange(&publishes)
    }

    @inline(__always)
    private mutating func publish(
        _ publishes: Span<WaitingPublish>, in bytes: Span<UInt8>, _ session: SessionHandle
    ) {
        for index in publishes.indices {
            if index > 0, hasDoneEnough {
                let (start, number) = (publishes[index].line.start, publishes[index].number)
                requests.group.leftOver = LeftOver(start: start, number: number)
                return
            }
            publish(publishes[index], in: bytes, session)
        }
    }

    @inline(__always)
    private mutating func publish(
        _ waiting: WaitingPublish, in bytes: Span<UInt8>, _ session: SessionHandle
    ) {
        let (isOpen, isGuarded, author) = sessions[session].standing
        guard isOpen else { return }
        let line = waiting.line.bytes(of: bytes)
        do throws(Refusal) {
            try publish(waiting, line, Writer(session: session, isGuarded: isGuarded, author: author))
        } catch {
            sessions[session].line = waiting.number
            refuse(error, id: waiting.request.id.bytes(of: line), session)
        }
        end(session)
    }

    /// Executes a line, or refuses it. Without a known request, the line isn't plain, and may be no request.
    private mutating func execute(
        _ known: Request?, _ line: inout MutableSpan<UInt8>, from session: SessionHandle
    ) {
        var request = known ?? Request()
        delivery.begin(session)
        do throws(Refusal) {
            if known == nil { try requests.decoder.decodeUnusual(&line, into: &request) }
            try perform(AskedRequest(request, line.span, from: session))
        } catch {
            refuse(error, id: request.id.bytes(of: line.span), session)
        }
        end(session)
    }

    // MARK: Requests that were put off

    /// Goes on with the request of a client that was put off, for a slice, and answers it when all was found.
    mutating func goOnWithRequest(of session: SessionHandle) {
        guard let request = sessions[session].backlog?.request, goOn(with: request) else { return }
        sessions[session].backlog?.request = nil
        sessions[session].dropEmptyBacklog()
        requests.end(request)
        finish(request, of: session)
    }

    /// Returns whether it can be answered now.
    private mutating func goOn(with request: DeferredRequest) -> Bool {
        switch request.work {
        case .keys(var search):
            let isDone = goOn(with: &search, requests.visitsMax)
            request.work = .keys(search)
            return isDone
        case .snapshot(let subscription):
            insight.count(steps: Cost.visit)
            let count = matching[subscription].backlog?.snapshot?.foundCount ?? 0
            guard count < Requests.foundMax || requests.mayGoOn(large: request) else { return false }
            return goOnWithSnapshot(of: subscription)
        case .resumption: return true
        }
    }

    private mutating func finish(_ request: DeferredRequest, of session: SessionHandle) {
        sessions[session].line = request.number
        delivery.touch(first: session, &sessions)
        swap(&request.decoder, &requests.decoder)
        let line = request.line
        let asked = AskedRequest(request.request, line.span, from: session)
        delivery.begin(session)
        switch request.work {
        case .keys(let search): reply(asked, listing: search)
        case .snapshot(let subscription): begin(subscription, asked, .anew)
        case .resumption:
            do throws(Refusal) {
                try subscribe(asked, isPutOff: true)
            } catch {
                refuse(error, id: asked.id, session)
            }
        }
        end(session)
    }
}
