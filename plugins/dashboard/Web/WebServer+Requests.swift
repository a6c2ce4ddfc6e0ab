// What the server does with a request: the gate decides who may have what, files are answered at once, and
// a line for the broker goes out on the connection of the page's own stream.

extension WebServer {
    /// Goes on with what has come on a connection.
    func advance(_ connection: WebConnection) {
        switch connection.phase {
        case .head: readHead(connection)
        case .body(let head, let bytes):
            guard connection.receivedBytes >= bytes else { return }
            ask(connection, head, line: connection.take(bytes))
        case .asked, .stream, .ending: break
        }
    }

    private func readHead(_ connection: WebConnection) {
        guard connection.receivedBytes > 0 else { return }
        // Between two requests a connection may rest; a request that has begun must go on.
        if connection.wasUsed {
            connection.wasUsed = false
            connection.deadline = moment(after: patience.head)
        }
        switch RequestHead.read(connection.headBytes()) {
        case .incomplete: break
        case .refused(let status): refuse(connection, status)
        case .head(let head, let bytes):
            connection.take(bytes)
            connection.endsAfterAnswer = head.wantsEnd
            serve(connection, head)
        }
    }

    private func serve(_ connection: WebConnection, _ head: RequestHead) {
        let verdict = configuration.gate.verdict(head)
        if case .refused(let status) = verdict { return refuse(connection, status) }
        guard !head.has("transfer-encoding"), !head.has("expect") else {
            return refuse(connection, .lengthRequired)
        }
        guard let length = bodyLength(head, verdict) else { return refuse(connection, .badRequest) }
        guard length <= WebLimits.bodyBytesMax else { return refuse(connection, .bodyTooLarge) }
        switch verdict {
        case .file(let path): answer(connection, PageFile.answer(path))
        case .events: beginStream(connection)
        case .request:
            connection.phase = .body(head, bytes: length)
            connection.deadline = moment(after: patience.body)
            advance(connection)
        case .refused: break
        }
    }

    /// How long the body is; nil if that isn't said as it must be.
    private func bodyLength(_ head: RequestHead, _ verdict: PageGate.Verdict) -> Int? {
        guard head.has("content-length") else { return verdict == .request ? nil : 0 }
        guard let text = head.only("content-length"), !text.isEmpty, text.utf8.count <= 18,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let length = Int(text)
        else { return nil }
        return verdict == .request || length == 0 ? length : nil
    }

    /// Hands a line to the broker on the connection of the stream that the request names.
    private func ask(_ connection: WebConnection, _ head: RequestHead, line: [UInt8]) {
        guard let number = head.only("plugboard-stream").flatMap({ UInt64($0) }), let stream = streams[number]
        else { return answer(connection, .empty(.conflict)) }
        var line = line
        if line.last == 0x0A { line.removeLast() }
        switch rules.check(line) {
        case .refused(let reply): answer(connection, .line(reply))
        case .passes(let id):
            guard stream.isOpen else { return answer(connection, .empty(.badGateway)) }
            guard stream.requests.count < WebLimits.requestsMax else {
                return answer(connection, .empty(.tooMany))
            }
            guard stream.requests[id] == nil else { return answer(connection, .empty(.conflict)) }
            stream.requests[id] = connection.number
            stream.link.send(line)
            connection.phase = .asked(id: id, stream: number)
            connection.deadline = moment(after: patience.answer)
        }
    }

    /// Sends an answer. The connection goes on with the next request, if there is to be one.
    func answer(_ connection: WebConnection, _ answer: WebAnswer) {
        connection.append(answer.bytes(endsConnection: connection.endsAfterAnswer))
        guard !connection.endsAfterAnswer else {
            connection.phase = .ending
            connection.deadline = moment(after: patience.write)
            return
        }
        connection.phase = .head
        connection.wasUsed = true
        connection.deadline = moment(after: patience.idle)
        // A browser waits for the answer before it asks again on the same connection.
        if connection.receivedBytes > 0 { refuse(connection, .badRequest) }
    }

    /// Sends an answer that says nothing, and ends the connection.
    func refuse(_ connection: WebConnection, _ status: WebStatus) {
        connection.endsAfterAnswer = true
        connection.append(WebAnswer.empty(status).bytes(endsConnection: true))
        connection.phase = .ending
        connection.deadline = moment(after: patience.write)
    }
}
