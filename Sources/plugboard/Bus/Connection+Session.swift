// What every command does first: find the broker, read its greeting, send a name.

import PlugboardPosix
import PlugboardWire

extension Connection {
    /// Connects as the options say, and has been greeted when it returns.
    /// `timeout`, in seconds, goes before `--timeout`.
    static func open(_ invocation: Invocation, timeout: Double? = nil) throws -> Connection {
        let connection = try Connection(
            path: invocation.text(.socket) ?? SocketPath.standard(),
            trusting: try trusted(invocation),
            timeout: timeout ?? invocation.seconds(.timeout) ?? Connection.timeoutSeconds
        )
        try connection.expectGreeting()
        if let name = name(invocation) {
            let reply = try connection.request(RequestLine("hello").adding("name", string: name))
            if let refusal = reply.refusal { throw refusal }
        }
        return connection
    }

    /// Sends one request and waits for its reply; events that come first are left out.
    func request(_ request: RequestLine) throws -> BrokerLine {
        try send(request.adding("id", 1).line)
        linesSent += 1
        while true {
            let line = try nextLine()
            if case .event = line.kind { continue }
            return line
        }
    }

    /// The same, but a refusal ends the command.
    func accepted(_ request: RequestLine) throws -> BrokerLine {
        let reply = try self.request(request)
        if let refusal = reply.refusal { throw refusal }
        return reply
    }

    /// The broker's first line.
    @discardableResult
    func expectGreeting() throws -> BrokerLine {
        let greeting = try nextLine()
        guard greeting.kind == .event("hello"), let version = greeting["protocol"]?.integer else {
            throw CommandError(.unavailable, "what answers at \(path) is not a Plugboard broker")
        }
        guard version == ProtocolVersion.number else {
            let message =
                "the broker at \(path) speaks protocol \(version), this is \(ProtocolVersion.number)"
            throw CommandError(.unavailable, message)
        }
        self.greeting = greeting
        return greeting
    }

    private static func trusted(_ invocation: Invocation) throws -> TrustedUsers {
        do throws(UnknownUser) {
            return try TrustedUsers(naming: invocation.text(.peer))
        } catch {
            let source = invocation.has(.peer) ? "--\(Option.peer.name)" : TrustedUsers.variable
            throw CommandError.usage("\(source): \(error)")
        }
    }

    private static func name(_ invocation: Invocation) -> String? {
        if let name = invocation.text(.clientName) { return name }
        guard invocation.command.options.contains(where: { $0.name == Option.clientName.name }) else {
            return nil
        }
        return SocketPath.variable("PLUGBOARD_NAME").flatMap { $0.isEmpty ? nil : $0 }
    }
}
