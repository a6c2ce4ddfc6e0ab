// `wait`: ends as soon as a value is there that fits. So a script can wait for a program, a state, a number.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let duration = CommandOption(
        "for", "SECONDS", "end after that time; without it, there is no limit", .seconds
    )
}

extension Command {
    static let wait = Command(
        name: "wait",
        group: .use,
        summary: "wait until there is a value that fits, and print it",
        parameters: [
            CommandParameter("PATTERN", "a key, or a pattern: * is one token, a last ** any number")
        ],
        options: [.condition, .duration, .clientName, .json] + CommandOption.forms + [.null]
            + CommandOption.observing,
        details: """
            Ends with status 0 as soon as a key that matches has a value that meets --where, perhaps at \
            once. It prints that value: of a key only the value, of a pattern also its key, as get does. \
            Events that are not kept (emit) don't count, and with --field neither do values without the part.

            If the time of --for passes first, the status is 1, and nothing is printed. If there is no \
            broker, the status is 69. When the broker goes, the command waits for it within its time.
            """,
        examples: [
            "wait cart.summary --for 10", #"wait 'job.*' --where '{"/state":{"==":"done"}}' --for 60"#,
            #"wait deploy.version --where '{"":{">=":7}}' --raw"#,
        ],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let form = try ValueForm(invocation)
        let keys = try KeyWords(invocation.arguments)
        let request = try SubscribeFields.withCondition(
            ObjectWriter(op: "subscribe").adding("key", string: invocation.arguments[0]), invocation
        )
        .checked()
        let observation = try ResumingConnection(invocation, console)
        try observation.ask(ResumableRequest(request, .present))
        try observation.connection.watchOutput()
        guard let (key, line) = try fitting(observation, form, invocation.seconds(.duration)) else {
            let reason = observation.isApart ? "there is no broker" : "no value fits"
            let message = "\(reason) after \(invocation.text(.duration) ?? "0") seconds"
            throw CommandError(observation.isApart ? .unavailable : .refused, message)
        }
        var records = ValueRecords(invocation, console, form, isSingle: keys.single != nil)
        try records.add(key, line)
        try records.flush()
    }

    /// The first value that fits; nil if none comes in time. The values that are there already count, however
    /// short the time is.
    private static func fitting(_ observation: ResumingConnection, _ form: ValueForm, _ seconds: Double?)
        throws
        -> (String, BrokerLine)?
    {
        let deadline = TimeLimit(seconds: seconds ?? 0)
        let patience = TimeLimit(seconds: max(seconds ?? 0, BrokerConnection.timeoutSeconds))
        var hasAll = false
        while true {
            let left = (hasAll || observation.isApart ? deadline : patience).milliseconds
            guard seconds == nil || left != nil else { return nil }
            let line = try observation.nextLine(milliseconds: seconds == nil ? -1 : left ?? 0)
            if line?.kind == .event("synced") { hasAll = true }
            guard let line, line.kind == .event("update"), let key = line["key"]?.string else { continue }
            if let value = line["value"], form.part(of: value) != nil { return (key, line) }
        }
    }
}
