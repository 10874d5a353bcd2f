/** What is told with a message. */
interface VelodromeMessage {
  /** The channel that it was published to. */
  channel: string;
  /** Its number, which is higher than that of the message before. Numbers may be left out. */
  offset: number;
  /** The position behind it: a later visit can go on there. */
  since: string;
}

/** What became of a message. */
interface VelodromePublished {
  /** Its position. */
  position: string;
  /** How many subscribers it is for. */
  receivers: number;
}

/** The users that subscribe to a channel. */
interface VelodromeMembers {
  /** How many users. */
  total: number;
  /** How many subscriptions, also of clients without a token. */
  subscribers: number;
  /** The first thousand, in the order of their names. */
  users: { user: string; info?: unknown }[];
}

interface VelodromeSubscribeOptions {
  /** The subscription has begun, or begins again after a reconnect; `recovered` says whether nothing was missed. */
  subscribed?: (about: { channel: string; since: string; recovered?: boolean }) => void;
  /** Messages are missing between the last one and the next. */
  lost?: () => void;
  /** The server refuses the subscription, or ends it; without it the reason goes to the console. */
  error?: (reason: string) => void;
  /** A user has subscribed, where the channel has presence; `info` is what its token tells of it. */
  joined?: (user: string, info: unknown) => void;
  /** A user has gone. */
  left?: (user: string) => void;
  /** The position to go on from. */
  since?: string;
}

/** The client of Velodrome's channels, from `/velodrome.js`. */
declare class Velodrome {
  /** Connects to `/channels` of this site, or to another URL. */
  constructor(
    url?: string | URL,
    options?: {
      /** Called at each change; with `waiting` it tells what failed. */
      onstate?: (state: "connecting" | "open" | "waiting" | "closed", why?: Error) => void;
      /** What the client may do: a token, or a function that gets one, which is called again before it expires, and after a failure. */
      token?: string | (() => string | Promise<string>);
    },
  );
  /** Subscribes; the function that it gives ends the subscription. Bytes that are no text come as a `Uint8Array`. */
  subscribe(
    channel: string,
    message: (data: unknown, info: VelodromeMessage) => void,
    options?: VelodromeSubscribeOptions,
  ): () => void;
  /** Publishes, as soon as there is a connection. */
  publish(channel: string, data: unknown): Promise<VelodromePublished>;
  /** The users that subscribe to a channel with presence: how many, and the first thousand of them. */
  members(channel: string): Promise<VelodromeMembers>;
  /** Ends all subscriptions and the connection. */
  close(): void;
}
