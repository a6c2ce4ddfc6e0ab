// The step between `up` and each of its children. The child asks the kernel for a signal at its
// parent's death, which posix_spawn can't do, and then becomes the program. So nothing outlives an
// `up` that is killed outright (on Linux). For a plugin, this step also waits until the broker
// knows the plugin, and leaves it a connection.

import PlugboardPosix
import PlugboardWire

extension Command {
    static let launch = Command(
        name: "launch",
        group: .hidden,
        summary: "run a program that ends when its parent does",
        parameters: [
            CommandParameter("PARENT", "the parent's process number"),
            CommandParameter("PROGRAM", "the program's path and its arguments, after --", .several),
        ],
        options: [.socket],
        run: { invocation, _ in
            guard let parent = Int32(invocation.arguments[0]) else {
                throw CommandError.usage("\(invocation.arguments[0]) is no process number")
            }
            guard ParentWatch.signalSelf(SIGTERM, whenParentDies: parent) else { return }
            if let socket = invocation.text(.socket) {
                guard HeldStart.wait() else { return }
                _ = InheritedConnection.leave(path: socket)
            }
            ActivatedSocket.claim()
            let words = Array(invocation.arguments.dropFirst())
            let error = ProgramImage.replace(by: words[0], arguments: Array(words.dropFirst()))
            let hints = error.code == ENOEXEC ? ["a script's first line is #! and its interpreter"] : []
            throw CommandError(.refused, "\(error)", hints: hints)
        }
    )

    /// The start of `program` through this command. With a `socket` it is a plugin: it leads a
    /// session, is held, and gets a connection to the broker at that socket.
    static func launching(
        _ program: String,
        _ arguments: [String],
        through plugboard: String,
        environment: [String],
        folder: String?,
        socket: String? = nil
    ) -> ChildStart {
        ChildStart(
            program: plugboard,
            arguments: ["launch"] + (socket.map { ["--socket", $0] } ?? [])
                + ["--", "\(getpid())", program] + arguments,
            environment: environment,
            folder: folder,
            output: .piped,
            leading: socket == nil ? .group : .session,
            isHeld: socket != nil
        )
    }
}
