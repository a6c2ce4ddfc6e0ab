// The first steps of every command: find the broker, read its greeting, send a name.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension BrokerConnection {
    /// Connects as the options say, and returns when the greeting has come. `timeout`, in seconds, takes the
    /// place of `--timeout`. Without a name in the options and the environment, it takes `usualName`.
    static func open(
        _ invocation: Invocation, timeout: Double? = nil, usualName: String? = nil
    ) throws -> BrokerConnection {
        let connection = try BrokerConnection(
            path: invocation.text(.socket) ?? SocketPath.standard(),
            trusting: try trusted(invocation),
            timeout: timeout ?? invocation.seconds(.timeout) ?? BrokerConnection.timeoutSeconds
        )
        connection.name = try name(invocation) ?? usualName
        try connection.expectGreeting()
        return connection
    }

    /// Makes the one request of a command. With `--json` it prints any reply and returns nil, because nothing
    /// is left to show. A refusal ends the command.
    static func ask(
        _ request: ObjectWriter, _ invocation: Invocation, _ console: CommandConsole, timeout: Double? = nil
    ) throws -> BrokerLine? {
        let reply = try open(invocation, timeout: timeout).request(request)
        if invocation.has(.json) { try console.output.json(reply.bytes) }
        if let refusal = reply.refusal { throw refusal }
        return invocation.has(.json) ? nil : reply
    }

    /// Sends one request and waits for its reply. It drops events that come before the reply.
    func request(_ request: ObjectWriter) throws -> BrokerLine {
        try send(request.line(id: 1))
        linesSent += 1
        while true {
            let line = try nextLine()
            if case .event = line.kind { continue }
            return line
        }
    }

    /// The same, but a refusal ends the command.
    func accepted(_ request: ObjectWriter) throws -> BrokerLine {
        let reply = try self.request(request)
        if let refusal = reply.refusal { throw refusal }
        return reply
    }

    /// The broker's first line. Takes the name.
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
        if let name { _ = try accepted(ObjectWriter(op: "hello").adding("name", string: name)) }
        return greeting
    }

    private static func trusted(_ invocation: Invocation) throws -> TrustedUsers {
        do throws(UnknownUser) {
            return try TrustedUsers(naming: invocation.text(.peer))
        } catch {
            let source = invocation.has(.peer) ? "--\(CommandOption.peer.name)" : TrustedUsers.variable
            throw CommandError.usage("\(source): \(error)")
        }
    }

    private static func name(_ invocation: Invocation) throws(CommandError) -> String? {
        if let name = invocation.text(.clientName) { return name }
        guard invocation.syntax.options.contains(where: { $0.name == CommandOption.clientName.name }) else {
            return nil
        }
        guard let name = SocketPath.variable("PLUGBOARD_NAME"), !name.isEmpty else { return nil }
        guard let plain = SystemText.plain(name) else {
            throw .usage("PLUGBOARD_NAME is not UTF-8: \(ShellWord.quoted(name))")
        }
        return plain
    }
}
