// A stream of events to one page, and its connection to the broker. The page's requests go out on that
// connection, so its subscriptions are its own, and end with the stream. A stream outlives its broker: it
// tells the page that the broker is gone, and later passes on the greeting of the next one.

import PlugboardMemory
import PlugboardPosix

/// A page's stream. Used by the server's thread.
final class EventStream {
    /// The number of the connection that carries it.
    let number: UInt64
    let link: BrokerLink
    /// The connections that wait for replies, by the ids of their requests.
    var requests: [Int64: UInt64] = [:]
    /// The descriptor of the link, as far as it is polled, and for what.
    var polledFD: Int32?
    var interest: Interest = []
    /// Whether the page knows that the broker is gone.
    var hasToldGone = false

    init(number: UInt64, link: BrokerLink) {
        self.number = number
        self.link = link
    }

    /// Whether the broker can be asked.
    var isOpen: Bool { link.fd != nil }
}

extension WebServer {
    /// Turns a connection into a stream.
    func beginStream(_ connection: WebConnection) {
        guard streams.count < WebLimits.streamsMax else { return refuse(connection, .tooMany) }
        streams[connection.number] = EventStream(number: connection.number, link: BrokerLink(configuration))
        connection.phase = .stream
        connection.deadline = moment(after: patience.heartbeat)
        connection.append(WebAnswer.streamStart)
        let now = WallClock.millisecondsSince1970()
        let news = #"{"stream":\#(connection.number),"write":\#(configuration.writes),"now":\#(now)}"#
        connection.append(news: "stream", news)
    }

    /// Connects if there is no broker, sends what waits for it, and polls it while the page has room.
    func tend(_ stream: EventStream) throws {
        guard let connection = connections[stream.number] else { return }
        if let moment = stream.link.retryNanoseconds, moment <= now {
            if stream.link.connect(now: now) {
                stream.hasToldGone = false
            } else {
                tellGone(stream, connection)
            }
        }
        // First, so that what follows knows how much room there is: nothing else wakes a stream that isn't polled.
        guard connection.flush() != nil else { return close(connection) }
        // What was held back goes on as soon as the browser has read, for no descriptor tells of it again.
        while stream.link.hasLine, connection.waitingBytes < WebLimits.streamBytesMax {
            hand(stream, to: connection)
            guard connection.flush() != nil else { return close(connection) }
        }
        guard stream.link.flush() else { return lose(stream) }
        try poll(stream, hasRoom: connection.waitingBytes < WebLimits.streamBytesMax)
    }

    private func poll(_ stream: EventStream, hasRoom: Bool) throws {
        guard let fd = stream.link.fd else { return }
        var interest: Interest = hasRoom ? .read : []
        if stream.link.hasOutgoing { interest.insert(.write) }
        let token = stream.number << 1 | 1
        if stream.polledFD == nil {
            try poller.add(fd, token: token, interest: interest)
        } else if interest != stream.interest {
            try poller.change(fd, token: token, interest: interest)
        }
        (stream.polledFD, stream.interest) = (fd, interest)
    }

    /// Reads from the broker, and hands on what the page has room for.
    func receive(_ stream: EventStream) {
        guard let connection = connections[stream.number] else { return }
        let isThere = stream.link.receive()
        if connection.waitingBytes < WebLimits.streamBytesMax { hand(stream, to: connection) }
        if !isThere { lose(stream) }
    }

    /// Hands on whole lines until the page has no more room.
    private func hand(_ stream: EventStream, to connection: WebConnection) {
        let isSound = stream.link.forEachLine { line in
            switch BrokerLineKind(line) {
            case .reply(let id): reply(stream, id, line)
            case .event, .greeting: connection.append(event: line)
            case .other: break
            }
            return connection.waitingBytes < WebLimits.streamBytesMax
        }
        if !isSound { lose(stream) }
    }

    private func reply(_ stream: EventStream, _ id: Int64, _ line: Span<UInt8>) {
        guard let number = stream.requests.removeValue(forKey: id), let asker = connections[number] else {
            return
        }
        answer(asker, .line([UInt8](line)))
    }

    /// The broker is gone: its page is told, and who waits for an answer.
    func lose(_ stream: EventStream) {
        if let fd = stream.polledFD { poller.remove(fd) }
        stream.polledFD = nil
        stream.link.drop(now: now)
        failRequests(of: stream, .badGateway)
        if let connection = connections[stream.number] { tellGone(stream, connection) }
    }

    func failRequests(of stream: EventStream, _ status: WebStatus) {
        for number in stream.requests.values {
            if let connection = connections[number] { answer(connection, .empty(status)) }
        }
        stream.requests = [:]
    }

    private func tellGone(_ stream: EventStream, _ connection: WebConnection) {
        guard !stream.hasToldGone else { return }
        stream.hasToldGone = true
        connection.append(news: "gone", "{}")
    }
}
