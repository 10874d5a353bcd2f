//! What a run came to, as text, JSON and a page.
