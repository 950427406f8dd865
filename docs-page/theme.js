// Light or dark: as the system is, or as the reader chooses.
{
    const dark = matchMedia('(prefers-color-scheme: dark)');

    // Storage may be switched off.
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
                // Then it lasts as long as the page.
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
