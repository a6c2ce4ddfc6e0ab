// `restart`: has the broker begin anew in its own process, with the program that lies where
// its own lay: nobody who connects is refused meanwhile.

import PlugboardPosix
import PlugboardWire

extension Command {
    static let restart = Command(
        name: "restart",
        group: .run,
        summary: "have the broker begin anew, with the program that is there now",
        options: Option.connection,
        details: """
            The broker tells its clients that it begins anew, and becomes the program that lies where its \
            own lay, in the same process: after an update, the new one. Its socket stays open: who connects \
            meanwhile waits, and nobody is refused. What it keeps is there again, without a journal as well. \
            Clients that come back and subscribe with "since", as the library's do, miss nothing.

            A program that doesn't start is found out before, and so is a --policy that is wrong, or that it doesn't \
            take; that changes nothing. What was checked then is what it follows. SIGUSR2 does the same to \
            the broker's process, and so does SIGHUP if its program has been replaced. It is for the \
            broker's own user and root.
            """,
        examples: ["restart"],
        run: run
    )

    /// How long the broker may take to take leave of its clients and to read what it keeps.
    private static let patienceSeconds = 30.0

    private static func run(_ invocation: Invocation, _ console: Console) throws {
        let connection = try Connection.open(invocation)
        let reply = try connection.accepted(RequestLine("get").adding("key", string: "$broker.stats"))
        guard let value = reply["value"],
            let pid = value.object?["pid"]?.integer.flatMap(Int32.init(exactly:))
        else { throw CommandError(.refused, "the broker does not say which process it is") }
        do {
            try Signals.send(SIGUSR2, to: pid)
        } catch {
            throw CommandError(.refused, "the broker can't be asked: \(error)")
        }
        guard waitForFarewell(connection) else {
            throw CommandError(.refused, "the broker goes on as it was: it says why where it prints")
        }
        let next = try Connection.open(invocation)
        let greeting = try next.accepted(RequestLine("sync"))
        let revision = greeting["revision"]?.integer.map { ", at revision \($0)" } ?? ""
        try console.output.line("the broker has begun anew\(revision)")
    }

    /// Whether the broker takes leave in good time.
    private static func waitForFarewell(_ connection: Connection) -> Bool {
        let deadline = Deadline(seconds: patienceSeconds)
        while let left = deadline.milliseconds {
            do {
                if let line = try connection.nextLine(milliseconds: left), line.kind == .event("bye") {
                    return true
                }
            } catch {
                return true
            }
        }
        return false
    }
}
