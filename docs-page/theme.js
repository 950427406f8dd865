// Applies the light or dark theme of the system, or the reader's choice.
{
    const dark = matchMedia('(prefers-color-scheme: dark)');

    // Storage may be disabled.
    const storage = {
        get choice() {
            try {
                return localStorage.getItem('petstore-theme') ?? '';
            } catch {
                return '';
            }
        },
        set choice(value) {
            try {
                localStorage.setItem('petstore-theme', value);
            } catch {
                // The choice then lasts as long as the page.
            }
        },
    };
    let choice = storage.choice;

    const show = () => document.documentElement.classList.toggle(
        'dark-mode', choice ? choice === 'dark' : dark.matches);

    dark.addEventListener('change', show);
    show();
    addEventListener('DOMContentLoaded', () => {
        const select = document.getElementById('theme');
        select.value = choice;
        select.addEventListener('change', () => {
            choice = storage.choice = select.value;
            show();
        });
    });
}
